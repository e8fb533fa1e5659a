struct conn { int argv; };
static int twice = 2;
static int helper(void) { return 2; }
extern int shared, level;
volatile int sink;

int work(int n)
{
	sink = n + twice + helper() + shared + level; /* stop */
	return n;
}

int b_main(struct conn *c)
{
	return work(c->argv) - 3;
}
