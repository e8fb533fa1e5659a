// Allocates and frees in several threads, asks malloc itself what it has, and stops.
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char buffer[1 << 20];
static pthread_barrier_t barrier;

static uint64_t next(uint64_t *s) { *s ^= *s << 13; *s ^= *s >> 7; *s ^= *s << 17; return *s; }

static void *work(void *arg)
{
	uint64_t s = (uint64_t)arg * 0x9e3779b97f4a7c15u + 7;
	static __thread void *live[5000];
	for (int i = 0; i < 200000; i++) {
		void **p = &live[next(&s) % 5000];
		if (*p) {
			free(*p);
			*p = 0;
		} else {
			uint64_t n = next(&s) % 600;
			if (next(&s) % 64 == 0)
				n = next(&s) % 20000;
			if (next(&s) % 2048 == 0)
				n = 200000 + next(&s) % 300000;
			*p = next(&s) % 50 ? malloc(n) : aligned_alloc(64 << next(&s) % 8, n);
		}
	}
	pthread_barrier_wait(&barrier);
	if (arg)
		pause();
	return 0;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	pthread_barrier_init(&barrier, 0, n);
	for (long i = 1; i < n; i++) {
		pthread_t t;
		pthread_create(&t, 0, work, (void *)i);
	}
	work(0);
	printf(" "); // whatever stdio allocates
	struct mallinfo2 m = mallinfo2();
	uint64_t fs;
	__asm__("mov %%fs:0, %0" : "=r"(fs));
	malloc_info(0, stdout);
	printf("mallinfo2 %zu %zu %zu %zu %zu %zu %zu %zu %zu\n", m.arena, m.ordblks, m.smblks, m.hblks, m.hblkhd, m.fsmblks, m.uordblks, m.fordblks, m.keepcost);
	fflush(stdout);
	raise(SIGSTOP);
	return 0;
}
