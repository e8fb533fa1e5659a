//build: -O1 -fno-builtin
// A process to attach to: THREADS threads allocate, check and free until
// standard input ends. Every 100 ms it prints "pace" and how many pairs were
// made since in 100 ms of CPU time, whatever else the machine did, 0 if there was
// next to none, and at the end all its calls. It prints "ready" and its pid
// when the threads are at work.
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static atomic_int done, ready;
// A cache line for each thread: one that two write makes them slower when both
// run than when they take turns.
static _Atomic long pairs[64][8], wrong[64][8];

__attribute__((noinline)) static int pair(unsigned n)
{
	size_t size = 20 + n % 1000;
	unsigned char *p = malloc(size);
	p[0] = p[size - 1] = n;
	int bad = p[0] != (unsigned char)n || p[size - 1] != (unsigned char)n;
	free(p);
	return bad;
}

static void *work(void *arg)
{
	long mine = (long)arg;
	ready++;
	for (unsigned n = mine; !done; n++) {
		atomic_fetch_add_explicit(&wrong[mine][0], pair(n), memory_order_relaxed);
		atomic_fetch_add_explicit(&pairs[mine][0], 1, memory_order_relaxed);
	}
	return NULL;
}

static long sum(_Atomic long of[64][8], int threads)
{
	long all = 0;
	for (int i = 0; i < threads; i++)
		all += of[i][0];
	return all;
}

// cpu is the process's CPU time in microseconds.
static long cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t t[64];
	for (long i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, work, (void *)i) != 0)
			return 2;
	while (ready < threads)
		usleep(1000);
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	struct pollfd in = {.fd = 0, .events = POLLIN};
	long before = sum(pairs, threads), since = cpu();
	while (poll(&in, 1, 100) == 0) {
		long now = sum(pairs, threads), used = cpu() - since;
		printf("pace %ld\n", used < 1000 ? 0 : (now - before) * 100000 / used);
		fflush(stdout);
		before = now;
		since += used;
	}
	done = 1;
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("wrong %ld\n", sum(wrong, threads));
	printf("calls malloc %ld free %ld\n", sum(pairs, threads), sum(pairs, threads));
	return sum(wrong, threads) != 0;
}
