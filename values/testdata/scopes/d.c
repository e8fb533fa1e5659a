static int twice = 3;
static int thrice = 4;
static const int limit = 100;
static int helper(void) { return 3; }

int d_use(void)
{
	return twice + thrice + helper() + limit;
}
