// Threads make nodes of 96 bytes and free all but some, which then lie in fastbins. The program stops; goes on with
// malloc_trim, and says how many bytes of memory it has given back. `nodes THREADS KEPT`: one of so many stays.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES = 150000 };

static pthread_barrier_t made, freed;
static long one_of;

static void *work(void *arg)
{
	static __thread void *node[NODES];
	(void)arg;
	for (int i = 0; i < NODES; i++)
		memset(node[i] = malloc(96), 1, 96);
	pthread_barrier_wait(&made);
	for (int i = 0; i < NODES; i++)
		if (i % one_of != 0)
			free(node[i]);
	pthread_barrier_wait(&freed);
	pause();
	return NULL;
}

static long resident(void)
{
	char b[1 << 16], *p;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	setvbuf(f, NULL, _IONBF, 0);
	b[fread(b, 1, sizeof b - 1, f)] = 0;
	fclose(f);
	p = strstr(b, "\nRss:");
	return p ? strtol(p + 5, NULL, 10) * 1024 : 0;
}

int main(int argc, char **argv)
{
	static char line[64];
	int threads = argc > 1 ? atoi(argv[1]) : 4;
	one_of = argc > 2 ? atol(argv[2]) : 100;
	pthread_barrier_init(&made, NULL, threads + 1);
	pthread_barrier_init(&freed, NULL, threads + 1);
	for (int i = 0; i < threads; i++) {
		pthread_t t;
		pthread_create(&t, NULL, work, NULL);
	}
	pthread_barrier_wait(&made);
	pthread_barrier_wait(&freed);
	long before = resident();
	unsigned long fs;
	__asm__("mov %%fs:0, %0" : "=r"(fs));
	snprintf(line, sizeof line, "ready %ld\n", before);
	write(1, line, strlen(line));
	raise(SIGSTOP);
	before = resident();
	malloc_trim(0);
	snprintf(line, sizeof line, "returned %ld\n", before - resident());
	write(1, line, strlen(line));
	raise(SIGSTOP);
	return 0;
}
