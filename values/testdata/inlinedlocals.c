// Inlined functions with blocks: copies, whose variables stand in other blocks than the
// original's.
#include <stdio.h>
#include <stdlib.h>
static volatile int sink;
static inline __attribute__((always_inline)) int inner(int n, const char *s)
{
	int sum = n;
	for (int i = 0; i < n; i++) {
		int sq = i * i;
		sum += sq;
		sink = sum;
	}
	{
		int other = sum * 2;
		sink = other + s[0]; /* stop */
	}
	return sum;
}
static inline __attribute__((always_inline)) int middle(int a)
{
	int b = a + 1;
	{
		int deep = inner(b, "x");
		sink = deep;
		b += deep;
	}
	return b;
}
int main(int argc, char **argv)
{
	int r = middle(argc + 2);
	int q = inner(argc, argv[0]);
	printf("%d\n", r + q);
	return 0;
}
