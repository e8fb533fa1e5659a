// A heap that grows, shrinks and grows again, in two functions: what stops on state are about.
//build: -O0 -pthread
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline))

static void *blocks[1000];

NOINLINE static void load(int from, int n, size_t size)
{
	for (int i = from; i < from + n; i++)
		blocks[i] = malloc(size);
}

NOINLINE static void drop(int from, int n)
{
	for (int i = from; i < from + n; i++)
		free(blocks[i]);
}

NOINLINE static void churn(int n)
{
	for (int i = 0; i < n; i++)
		free(malloc(100));
}

static void nap(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	nanosleep(&t, NULL);
}

static void *worker(void *p)
{
	load(500, 100, 10000);
	nap(700);
	return p;
}

int main(void)
{
	pthread_t t;
	load(0, 100, 1000);
	nap(700);
	load(100, 100, 10000);
	nap(700);
	drop(100, 100);
	nap(700);
	load(100, 100, 20000);
	nap(700);
	churn(1);
	nap(700);
	drop(100, 100);
	nap(700);
	pthread_create(&t, NULL, worker, NULL);
	pthread_join(t, NULL);
	drop(500, 100);
	drop(0, 100);
	return 0;
}
