/*
 * Makes children in the way argv[1] names, while other threads call hit(); the
 * children call hit() too and must not die of anybody's int3.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile int done;
static long total;

__attribute__((noinline)) void hit(long n) { __atomic_add_fetch(&total, n, __ATOMIC_RELAXED); }

static void *work(void *arg)
{
	while (!done)
		hit(1);
	return 0;
}

static void *child(void *arg)
{
	pthread_barrier_wait(arg);
	pid_t pid = syscall(SYS_fork); /* fork(3) goes one by one */
	if (pid == 0)
		_exit(3);
	return (void *)(long)pid;
}

static int ended(pid_t pid, int want)
{
	int st;
	return waitpid(pid, &st, 0) == pid && WIFEXITED(st) && WEXITSTATUS(st) == want;
}

int main(int argc, char **argv)
{
	const char *how = argv[1];
	int n = argc > 2 ? atoi(argv[2]) : 0, ok = 1;
	if (!strcmp(how, "child")) {
		hit(1);
		return 3;
	}
	pthread_t t[16];
	if (!strcmp(how, "together")) { /* all threads at the same time */
		pthread_barrier_t all;
		void *pid;
		pthread_barrier_init(&all, 0, n + 1);
		for (int i = 0; i < n; i++)
			pthread_create(&t[i], 0, child, &all);
		pthread_barrier_wait(&all);
		hit(1);
		for (int i = 0; i < n; i++) {
			pthread_join(t[i], &pid);
			ok = ended((long)pid, 3) && ok;
		}
		return ok ? 7 : 1;
	}
	for (int i = 0; i < n; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < (n ? 30 : 1) && ok; i++) {
		pid_t pid = -1;
		char *args[] = { argv[0], "child", 0 };
		if (!strcmp(how, "fork") && (pid = fork()) == 0) {
			for (int k = 0; k < 100; k++)
				hit(1);
			_exit(3);
		}
		if (!strcmp(how, "vfork") && (pid = vfork()) == 0) {
			for (int k = 0; k < 5; k++)
				hit(0);
			_exit(3);
		}
		if (!strcmp(how, "vforkwait") && (pid = vfork()) == 0) {
			pause();
			_exit(4);
		}
		if (!strcmp(how, "vforkexec") && (pid = vfork()) == 0) {
			hit(0);
			execv(argv[0], args);
			_exit(4);
		}
		if (!strcmp(how, "spawn") && posix_spawn(&pid, argv[0], 0, 0, args, environ))
			return 5;
		if (!strcmp(how, "forkexec") && (pid = fork()) == 0) {
			execv(argv[0], args);
			_exit(4);
		}
		if (!strcmp(how, "exec")) {
			execv(argv[0], args);
			return 4;
		}
		ok = ended(pid, 3);
	}
	done = 1;
	for (int i = 0; i < n; i++)
		pthread_join(t[i], 0);
	return ok ? 7 : 1;
}
