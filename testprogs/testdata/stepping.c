// Places to step through: a loop, a call within a call, a call through a
// pointer, recursion, a library function, several statements in a line.
#include <stdio.h>
#include <string.h>

static int leaf(int n)
{
	int twice = n * 2;
	return twice + 1;
}

static int middle(int n)
{
	int a = leaf(n);
	int b = leaf(leaf(a));
	return a + b;
}

static int factorial(int n)
{
	if (n <= 1)
		return 1;
	return n * factorial(n - 1);
}

int main(void)
{
	int (*through)(int) = middle;
	int sum = 0;
	for (int i = 0; i < 3; i++)
		sum += leaf(i);
	sum += through(sum); sum += 1;
	sum += factorial(5);
	sum += strlen("a library function");
	printf("sum %d\n", sum);
	return 0;
}
