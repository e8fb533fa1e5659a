//build: -O2
// What a condition on malloc that never holds costs: microcond MS makes pairs
// of malloc(100) and free in batches of 1,000 for MS milliseconds, and prints
// the nanoseconds of a pair in the median batch: a batch that was interrupted
// is an outlier. Beside it stand the batch that a twentieth are faster than, and
// the mean of all. Then it calls a function for a quarter of that time, and prints the
// nanoseconds of a call in the batch that a twentieth are faster than.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PAIRS 1000
#define BATCHES (1 << 18)

static long took[BATCHES];

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

long sum;

__attribute__((noinline)) void called(int n)
{
	sum += n;
}

// calls measures batches of calls until a time.
static int calls(long end)
{
	int n = 0;
	for (long start = now(); n < BATCHES && start < end; n++) {
		for (int i = 0; i < PAIRS; i++)
			called(i);
		long stop = now();
		took[n] = stop - start;
		start = stop;
	}
	qsort(took, n, sizeof took[0], shorter);
	return n;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	long end = now() + atol(argv[1]) * 1000000L;
	int n = 0;
	long all = 0;
	for (long start = now(); n < BATCHES && start < end; n++) {
		for (int i = 0; i < PAIRS; i++) {
			void *p = malloc(100);
			__asm__ volatile("" : : "r"(p) : "memory");
			free(p);
		}
		long stop = now();
		took[n] = stop - start;
		all += took[n];
		start = stop;
	}
	qsort(took, n, sizeof took[0], shorter);
	printf("pair_ns %.3f low_ns %.3f mean_ns %.3f batches %d\n", took[n / 2] / (double)PAIRS,
	       took[n / 20] / (double)PAIRS, all / (double)n / PAIRS, n);
	n = calls(now() + atol(argv[1]) * 250000L);
	printf("call_ns %.3f\n", took[n / 20] / (double)PAIRS);
	return 0;
}
