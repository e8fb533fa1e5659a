// Allocations through a wrapper and an inlined function, for rows that are to
// stand for them with line information and, built with -g0, without.
#include <stdlib.h>

static void *kept[8];

__attribute__((noinline)) void *xmalloc(size_t size)
{
	void *block = malloc(size);
	if (!block)
		abort();
	return block;
}

static inline __attribute__((always_inline)) void *zeroed(size_t size)
{
	return calloc(1, size);
}

__attribute__((noinline)) void *user(int n)
{
	return xmalloc(n * 100);
}

__attribute__((noinline)) void *merged(int n)
{
	return zeroed(n * 10);
}

int main(void)
{
	for (int i = 0; i < 4; i++) {
		kept[i] = user(i + 1);
		kept[i + 4] = merged(i + 1);
	}
	return 0;
}
