// Threads add to one counter at the same time.
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ADDS = 50 };

long counter;
static pthread_barrier_t all;

static void *adds(void *arg)
{
	pthread_barrier_wait(&all);
	for (int i = 0; i < ADDS; i++)
		__sync_fetch_and_add(&counter, 1);
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];
	pthread_barrier_init(&all, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, adds, NULL) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	return counter != THREADS * ADDS;
}
