// forkedheap: four threads free and allocate blocks; the process forks, and the child, which has none of them,
// keeps their tcaches. It loses one block of 7,777 bytes, says how many it holds, and waits.
//build: -O1 -pthread
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { THREADS = 4, SLOTS = 1000 };

static void *volatile held[THREADS][SLOTS];
static volatile int rounds[THREADS];

static void *churn(void *arg)
{
	long n = (long)arg;
	unsigned s = n;
	for (;; rounds[n]++) {
		s = s * 1664525 + 1013904223;
		int i = (s >> 9) % SLOTS;
		void *old = held[n][i];
		held[n][i] = 0;
		free(old);
		held[n][i] = malloc((s >> 5) % 2000 + 1);
	}
}

int main(void)
{
	for (long n = 0; n < THREADS; n++) {
		pthread_t t;
		pthread_create(&t, 0, churn, (void *)n);
	}
	for (int n = 0; n < THREADS; n++)
		while (rounds[n] < 20000)
			usleep(1000);
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, 9);
		*(volatile char *)malloc(7777) = 1;
		int blocks = 1;
		for (int n = 0; n < THREADS; n++)
			for (int i = 0; i < SLOTS; i++)
				blocks += held[n][i] != 0;
		printf("%d %d\n", getpid(), blocks);
		fflush(stdout);
		pause();
	}
	pause();
}
