// Threads come and go: WAVES waves of THREADS threads, each of which
// allocates CALLS times and exits. Arguments: threads, waves, calls.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls = 10;

__attribute__((noinline)) static void *work(void *arg)
{
	long sum = 0;
	for (int i = 0; i < calls; i++) {
		char *p = malloc(1000 + i);
		memset(p, (int)(long)arg, 1000 + i);
		sum += p[i];
		free(p);
	}
	return (void *)sum;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4;
	int waves = argc > 2 ? atoi(argv[2]) : 2;
	calls = argc > 3 ? atoi(argv[3]) : calls;
	pthread_t *t = calloc(threads, sizeof *t);
	long total = 0;
	for (int w = 0; w < waves; w++) {
		for (long i = 0; i < threads; i++)
			if (pthread_create(&t[i], NULL, work, (void *)(i % 100)) != 0)
				return 1;
		for (int i = 0; i < threads; i++) {
			void *sum;
			pthread_join(t[i], &sum);
			total += (long)sum;
		}
	}
	free(t);
	printf("total %ld\n", total);
	return 0;
}
