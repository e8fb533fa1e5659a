/* Variables that gcc -O2 keeps in registers that functions may overwrite, over calls of
   functions that do not: keeps. Others overwrite them: loses. */
#include <stdlib.h>

volatile long sum;
volatile double total;

__attribute__((noinline, noclone)) static int leaf(int n)
{
	sum += n;
	return n + 1;
}

__attribute__((noinline, noclone)) static int between(int n)
{
	return leaf(n) * 2;
}

__attribute__((noinline, noclone)) static int spoils(int n)
{
	double d = n;
	for (long i = 0; i < n; i++) {
		sum = sum * 3 + i;
		d = d * 1.5 + sum;
	}
	free(malloc(n));
	int r = leaf(n);
	total += d;
	return r;
}

__attribute__((noinline, noclone)) static int keeps(long a, long b, double d, float f)
{
	int r = between(3);
	sum += a + b;
	total += d + f;
	return r;
}

__attribute__((noinline, noclone)) static int loses(long a, long b, double d, float f)
{
	sum += a + b;
	total += d + f;
	int r = spoils(3);
	sum += a;
	return r;
}

int main(int argc, char **argv)
{
	int r = keeps(argc * 7, argc + 5, argc * 2.5, 1.5f);
	r += loses(argc * 7, argc + 5, argc * 2.5, 1.5f);
	return r + sum + total == 0;
}
