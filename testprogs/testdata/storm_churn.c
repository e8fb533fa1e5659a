//build: -O1
// THREADS short threads, sixteen at a time, half of them detached; each
// allocates, checks, and leaves a block to the next one.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_long mallocs, frees, wrong, running;
static _Atomic(char *) left;

static void *work(void *arg)
{
	long n = (long)arg;
	for (int i = 0; i < 3; i++) {
		char *p = malloc(100 + n % 100);
		memset(p, n, 100 + n % 100);
		wrong += p[99] != (char)n;
		free(p);
	}
	char *mine = malloc(200);
	strcpy(mine, "left");
	char *other = atomic_exchange(&left, mine);
	mallocs += 4;
	frees += 3;
	if (other) {
		wrong += strcmp(other, "left") != 0;
		free(other);
		frees++;
	}
	running--;
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 100;
	pthread_attr_t detached;
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&detached, 65536);
	pthread_t t[8];
	for (long n = 0; n < threads; n += 16) {
		for (long i = 0; i < 16; i++) {
			running++;
			pthread_t d;
			int failed = i < 8 ? pthread_create(&t[i], NULL, work, (void *)(n + i)) : pthread_create(&d, &detached, work, (void *)(n + i));
			if (failed) {
				printf("thread %ld: error %d\n", n + i, failed);
				return 2;
			}
		}
		for (int i = 0; i < 8; i++)
			pthread_join(t[i], NULL);
		while (running > 0)
			usleep(50);
	}
	free(left);
	frees++;
	printf("threads %ld wrong %ld\n", (threads + 15) / 16 * 16, (long)wrong);
	printf("calls malloc %ld free %ld\n", (long)mallocs, (long)frees);
	return wrong != 0;
}
