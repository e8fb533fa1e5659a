// A thread dies in malloc, which finds the heap damaged. The frames that called it lie by the stack pointer.
//build: -pthread -O2 -fomit-frame-pointer -fno-optimize-sibling-calls
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static volatile size_t overrun = 64;
static char *volatile kept;

__attribute__((noinline)) static char *inner(size_t n)
{
	char spare[200];
	__asm__ volatile("" ::"r"(spare) : "memory");
	return malloc(n);
}

__attribute__((noinline)) static int outer(size_t n)
{
	kept = malloc(24);
	memset(kept, 'A', overrun); // the size of the top chunk, too
	char *q = inner(n);
	return q == kept;
}

static void *work(void *arg)
{
	return outer((size_t)arg) ? arg : NULL;
}

int main(void)
{
	pthread_t t;
	sigset_t all;
	sigfillset(&all);
	pthread_create(&t, NULL, work, (void *)2000);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	pthread_join(t, NULL);
	return 0;
}
