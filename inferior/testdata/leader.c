/* The leader exits first (argv[1] "exit", or "stay": the others wait) or a thread calls execve ("exec"). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *path;
static const char *how;
static long total;

__attribute__((noinline)) void hit(long n) { __atomic_add_fetch(&total, n, __ATOMIC_RELAXED); }

static void *work(void *arg)
{
	while (!strcmp(how, "stay"))
		pause();
	usleep(2000);
	for (int i = 0; i < 200; i++)
		hit(1);
	if (!strcmp(how, "exec") && arg) {
		char *args[] = { path, "done", 0 };
		execv(path, args);
	}
	if (!strcmp(how, "exit") && arg) {
		usleep(20000);
		exit(7);
	}
	for (;;)
		hit(1);
}

int main(int argc, char **argv)
{
	path = argv[0];
	how = argv[1];
	if (!strcmp(how, "done")) {
		hit(1);
		return 7;
	}
	pthread_t t;
	for (long i = 0; i < 5; i++)
		pthread_create(&t, 0, work, (void *)(i == 4));
	if (!strcmp(how, "exit") || !strcmp(how, "stay"))
		pthread_exit(0);
	for (;;)
		pause();
}
