//build: -O1 -pthread
// Tells hdb of blocks and marks all the time, in three threads. With an argument, forks instead, a
// hundred children that do so.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../annotations/hdb.h"

static void *tell(void *p)
{
	char *chunk = malloc(4096);
	for (;;) {
		HDB_ALLOC(&chunk, chunk, 64);
		HDB_FREE(&chunk, chunk);
		HDB_MARK("told");
	}
	return p;
}

static int children(void)
{
	for (int i = 0; i < 100; i++) {
		int status;
		HDB_MARK("before");
		pid_t child = fork();
		if (child == 0) {
			HDB_MARK("child");
			HDB_ALLOC(&child, &child, 3);
			HDB_PAUSE();
			_exit(7);
		}
		waitpid(child, &status, 0);
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) {
			printf("a child died: %#x\n", status);
			return 1;
		}
	}
	puts("all lived");
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	(void)argv;
	if (argc > 1)
		return children();
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, tell, NULL);
	for (int i = 0;; i++) {
		usleep(10000);
		printf("%d\n", i);
		fflush(stdout);
	}
}
