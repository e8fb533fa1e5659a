//build: -O2
// Functions that leave by a tail call: there is one way from outer to leaf, and there are
// two from either, of which only the first jump is the same. wrapper and giver leave for the
// allocator.
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile int calls;

NOINLINE char *leaf(size_t n)
{
	char *p = malloc(n);
	calls++;
	return p;
}

NOINLINE char *middle(size_t n)
{
	calls++;
	return leaf(n + 1);
}

NOINLINE char *outer(size_t n)
{
	calls++;
	return middle(n + 1);
}

NOINLINE char *left(size_t n)
{
	calls += 2;
	return leaf(n + 2);
}

NOINLINE char *right(size_t n)
{
	calls += 3;
	return leaf(n + 3);
}

NOINLINE char *either(size_t n)
{
	calls++;
	if (n & 1)
		return left(n);
	return right(n);
}

NOINLINE char *shared(size_t n)
{
	calls++;
	return either(n);
}

NOINLINE char *wrapper(size_t n)
{
	calls++;
	return malloc(n + 4);
}

NOINLINE void giver(char *p)
{
	calls++;
	free(p);
}

int main(void)
{
	free(outer(1000));
	calls++;
	free(shared(2000));
	calls++;
	giver(wrapper(3000));
	calls++;
	printf("%d\n", calls);
	return 0;
}
