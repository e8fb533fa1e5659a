// Three units with statics of the same names, and a local c that hides one of them.
struct conn { int argv; };
struct conf { const char *path; };
enum state { IDLE, BUSY = 4 };
static struct conf *c;
static int twice = 1;
static int level = 1;
static int only_a = 11;
static const int limit = 100;
static int helper(void) { return 1; }
int shared = 7;
int b_main(struct conn *);
int d_use(void);

static int a_use(void)
{
	static struct conf it = {"/etc"};
	enum state s = BUSY;
	c = &it;
	return twice + helper() + only_a + level + limit + s;
}

int main(void)
{
	struct conn k = {3};
	return b_main(&k) + (a_use() + d_use() == 0);
}
