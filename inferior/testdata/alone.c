/* The first thread ends with a second one there: itself (argv[1] "thread"), or the process. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static volatile int over;

__attribute__((noinline)) void hit(void) { __asm__ volatile("nop"); }

static void *work(void *arg)
{
	while (!over)
		;
	exit(7);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;
	pthread_create(&t, 0, work, 0);
	hit();
	if (argc > 1 && strcmp(argv[1], "thread"))
		exit(7);
	over = 1;
	pthread_exit(0);
}
