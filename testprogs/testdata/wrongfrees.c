// Calls that give back what is no block, one for each argument: the first of them is the case.
// Some end the program: glibc aborts.
//build: -O0 -pthread
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char global[64];
static char *kept; // so that nothing is optimized away

#define NOINLINE __attribute__((noinline))

NOINLINE static char *make(size_t size)
{
	kept = malloc(size);
	memset(kept, 7, size);
	return kept;
}

NOINLINE static void give(void *p)
{
	free(p);
}

NOINLINE static void again(void *p)
{
	free(p);
}

static void at_exit(void)
{
	again(kept);
}

static void handler(int n)
{
	(void)n;
	again(kept);
}

static void *thread(void *p)
{
	again(p);
	return p;
}

static int run(const char *what)
{
	char local[64];
	void *p = NULL;
	if (!strcmp(what, "fine")) {
		for (int i = 0; i < 1000; i++)
			give(make(16 + i));
		p = realloc(make(10), 1000);
		p = reallocarray(p, 10, 1000);
		give(p);
		if (posix_memalign(&p, 256, 100) == 0)
			give(p);
		give(aligned_alloc(64, 128));
		give(valloc(100));
		free(NULL);
	} else if (!strcmp(what, "double")) {
		p = make(40);
		give(p);
		again(p);
	} else if (!strcmp(what, "large")) { // a mapping of its own
		p = make(1 << 20);
		give(p);
		again(p);
	} else if (!strcmp(what, "aligned")) {
		if (posix_memalign(&p, 256, 100) == 0) {
			give(p);
			again(p);
		}
	} else if (!strcmp(what, "realloc")) {
		p = make(40);
		give(p);
		p = realloc(p, 80);
	} else if (!strcmp(what, "moved")) { // realloc has given it back
		p = make(40);
		make(40);
		kept = realloc(p, 4000);
		again(p);
	} else if (!strcmp(what, "reallocarray")) {
		p = make(40);
		give(p);
		p = reallocarray(p, 8, 10);
	} else if (!strcmp(what, "inside")) {
		again(make(64) + 16);
	} else if (!strcmp(what, "odd")) {
		again(make(64) + 1);
	} else if (!strcmp(what, "resize-inside")) {
		p = realloc(make(64) + 16, 100);
	} else if (!strcmp(what, "stack")) {
		again(local);
	} else if (!strcmp(what, "global")) {
		again(global + 16);
	} else if (!strcmp(what, "atexit")) {
		atexit(at_exit);
		give(make(40));
	} else if (!strcmp(what, "signal")) {
		signal(SIGUSR1, handler);
		give(make(40));
		raise(SIGUSR1);
	} else if (!strcmp(what, "reused")) { // the second free takes another's block: nobody can tell
		p = make(40);
		give(p);
		kept = make(40);
		give(p);
	} else if (!strcmp(what, "thread")) {
		pthread_t t;
		p = make(40);
		give(p);
		pthread_create(&t, NULL, thread, p);
		pthread_join(t, NULL);
	} else if (!strcmp(what, "fork")) { // in the child alone
		p = make(40);
		give(p);
		if (fork() == 0) {
			again(p);
			_exit(0);
		}
		wait(NULL);
	} else {
		return 2;
	}
	return 0;
}

int main(int argc, char **argv)
{
	return argc < 2 ? 2 : run(argv[1]);
}
