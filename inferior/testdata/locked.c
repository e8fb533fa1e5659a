/* A second thread is in hit while the first joins it; argv[1] "fork", "exec": the second makes a
   child that exits with 9, or executes this program anew, which exits. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char **args;

__attribute__((noinline)) void hit(void) { __asm__ volatile("nop"); }

static void handle(int sig) { (void)sig; }

static void *work(void *arg)
{
	hit();
	if (args[1] && !strcmp(args[1], "fork") && fork() == 0)
		_exit(9);
	if (args[1] && !strcmp(args[1], "exec"))
		execl("/proc/self/exe", args[0], "over", (char *)0);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;
	args = argv;
	if (argc > 1 && !strcmp(argv[1], "over"))
		exit(8);
	signal(SIGUSR1, handle);
	pthread_create(&t, 0, work, 0);
	pthread_join(t, 0);
	exit(7);
}
