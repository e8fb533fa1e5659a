// A program to attach to: 30 threads (or as many as the first argument
// says) allocate and compute until standard input ends, then the program
// prints how many rounds were right and how many wrong. It prints "ready"
// and its pid when all threads are at work.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static atomic_int stop, ready;
static atomic_long right, wrong;

__attribute__((noinline)) static unsigned checksum(const unsigned char *p, size_t n)
{
	unsigned sum = 1;
	for (size_t i = 0; i < n; i++)
		sum = sum * 31 + p[i];
	return sum;
}

__attribute__((noinline)) static void round_of_work(int seed)
{
	size_t n = 256 + seed % 2048;
	unsigned char *a = malloc(n), *b = calloc(1, n);
	memset(a, seed, n);
	memcpy(b, a, n);
	if (checksum(a, n) == checksum(b, n))
		right++;
	else
		wrong++;
	free(b);
	free(a);
}

static void *work(void *arg)
{
	int seed = (int)(long)arg;
	ready++;
	while (!stop) {
		round_of_work(seed++);
		if (seed % 64 == 0)
			usleep(500);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 30;
	pthread_t *t = calloc(threads, sizeof *t);
	for (long i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, work, (void *)(i * 1000)) != 0)
			return 1;
	while (ready < threads)
		usleep(1000);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	char c;
	while (read(0, &c, 1) > 0)
		;
	stop = 1;
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	free(t);
	printf("right %s wrong %ld\n", right > 0 ? "some" : "none", (long)wrong);
	return wrong != 0;
}
