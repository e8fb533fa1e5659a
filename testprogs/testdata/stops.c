// What a breakpoint costs the program: it times each of 2,000 calls of
// target and prints the median in nanoseconds. With the argument "malloc"
// it times malloc(100) instead.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS 2000

static long took[CALLS];

__attribute__((noinline)) int target(int n)
{
	return n + 1;
}

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static int shorter(const void *a, const void *b)
{
	return (*(const long *)a > *(const long *)b) - (*(const long *)a < *(const long *)b);
}

int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < CALLS; i++) {
		long start = now();
		if (argc > 1)
			free(malloc(100));
		else
			target(i);
		took[i] = now() - start;
	}
	qsort(took, CALLS, sizeof took[0], shorter);
	printf("median %ld\n", took[CALLS / 2]);
	return 0;
}
