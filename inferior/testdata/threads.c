/* Threads that come and go while they call hit(): argv: workers, rounds, calls. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long total;

__attribute__((noinline)) void hit(long n) { __atomic_add_fetch(&total, n, __ATOMIC_RELAXED); }

static int calls;

static void *work(void *arg)
{
	for (int i = 0; i < calls; i++)
		hit((long)arg);
	return 0;
}

int main(int argc, char **argv)
{
	int workers = atoi(argv[1]), rounds = atoi(argv[2]);
	calls = atoi(argv[3]);
	pthread_t *t = calloc(workers, sizeof *t);
	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < workers; i++)
			if (pthread_create(&t[i], 0, work, (void *)1L))
				abort();
		for (int i = 0; i < workers; i++)
			pthread_join(t[i], 0);
	}
	printf("total %ld\n", total);
	return total == (long)workers * rounds * calls ? 7 : 1;
}
