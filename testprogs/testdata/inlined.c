//build: -O2
// Two calls of one chain that is inlined three deep, from two places, so
// that the same source line lies at two addresses.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

INLINE char *third(size_t n)
{
	char *p = malloc(n);
	memset(p, 3, n);
	return p;
}

INLINE char *second(size_t n)
{
	char *p = third(n + 1);
	p[0] = 2;
	return p;
}

INLINE char *first(size_t n)
{
	char *p = second(n * 10);
	p[1] = 1;
	return p;
}

__attribute__((noinline)) static int one_place(size_t n)
{
	char *p = first(n);
	int sum = p[0] + p[1] + p[2];
	free(p);
	return sum;
}

__attribute__((noinline)) static int other_place(size_t n)
{
	char *p = first(n + 100);
	int sum = p[0] * p[1] * p[2];
	free(p);
	return sum;
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("%d\n", one_place(argc) + other_place(argc));
	return 0;
}
