//build: -O2
// What recording costs: micro DEPTH THREADS PAIRS [PATHS] makes PAIRS calls of
// malloc and free in all, each pair DEPTH calls below its thread's start, and
// prints the CPU time of the process. The way down takes one of PATHS (a power
// of two, else 1) turns, so that there are as many stacks.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static int depth;
static unsigned paths = 1;

// descend must not be cloned, inlined into itself or end in a jump: each
// level is a frame, and has one of two return addresses.
__attribute__((noinline, noclone)) static void descend(int n, unsigned path)
{
	if (n <= 1) {
		char *p = malloc(100);
		if (!p)
			abort();
		*(volatile char *)p = 1;
		free(p);
	} else if (path & 1) {
		descend(n - 1, path >> 1);
	} else {
		descend(n - 1, path >> 1);
		__asm__ volatile("nop"); // or both calls would become one
	}
	__asm__ volatile("" ::: "memory");
}

static void *work(void *pairs)
{
	for (long i = 0, n = *(long *)pairs; i < n; i++)
		descend(depth, i & (paths - 1));
	return NULL;
}

static long wall(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

static long cpu(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000L + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	depth = atoi(argv[1]);
	int threads = atoi(argv[2]);
	long pairs = atol(argv[3]) / threads;
	if (argc > 4)
		paths = atoi(argv[4]);

	long start = wall();
	pthread_t thread[64];
	for (int i = 1; i < threads && i < 64; i++)
		if (pthread_create(&thread[i], NULL, work, &pairs))
			return 1;
	work(&pairs);
	for (int i = 1; i < threads && i < 64; i++)
		pthread_join(thread[i], NULL);
	printf("wall_us %ld cpu_us %ld\n", wall() - start, cpu());
	return 0;
}
