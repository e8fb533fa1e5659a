//build: -O1 -fno-builtin
// The program executes itself GENERATIONS times; each generation starts
// CHILDREN children by vfork, posix_spawn, fork and system in turn, allocates
// before, between and after, and leaves blocks behind. The last one tells how
// many calls all generations made.
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static long mallocs, frees, wrong;

__attribute__((noinline)) static void allocate(int n)
{
	for (int i = 0; i < n; i++) {
		char *p = malloc(700 + i);
		mallocs++;
		memset(p, i, 700 + i);
		wrong += p[699 + i] != (char)i;
		free(p);
		frees++;
	}
}

static int child(const char *path, int n)
{
	char *args[] = {(char *)path, "child", NULL};
	char command[4200];
	int status = 0, failed = 0;
	pid_t pid = 0;
	switch (n % 4) {
	case 0:
		pid = vfork();
		if (pid == 0) {
			execv(path, args);
			_exit(127);
		}
		break;
	case 1:
		failed = posix_spawn(&pid, path, NULL, NULL, args, environ);
		break;
	case 2:
		pid = fork();
		if (pid == 0) {
			allocate(3);
			execv(path, args);
			_exit(127);
		}
		break;
	case 3:
		snprintf(command, sizeof command, "exec '%s' child", path);
		status = system(command);
		pid = -1;
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	return failed || !WIFEXITED(status) || WEXITSTATUS(status) != 9;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "child") == 0) {
		allocate(10);
		return wrong ? 1 : 9;
	}
	int generations = argc > 1 ? atoi(argv[1]) : 2, children = argc > 2 ? atoi(argv[2]) : 4;
	int generation = argc > 3 ? atoi(argv[3]) : 1;
	mallocs = argc > 4 ? atol(argv[4]) : 0;
	frees = argc > 5 ? atol(argv[5]) : 0;
	char path[4096] = {0};
	if (readlink("/proc/self/exe", path, sizeof path - 1) < 0)
		return 2;
	// Not where the next generation has a block.
	strcpy(malloc(generation < generations ? 300000 : 2000), "left behind");
	mallocs++;
	for (int i = 0; i < children; i++) {
		allocate(2);
		if (child(path, i)) {
			printf("generation %d: child %d failed\n", generation, i);
			return 1;
		}
	}
	allocate(5);
	if (wrong) {
		printf("generation %d: wrong %ld\n", generation, wrong);
		return 1;
	}
	if (generation < generations) {
		char words[4][24];
		snprintf(words[0], sizeof words[0], "%d", generation + 1);
		snprintf(words[1], sizeof words[1], "%ld", mallocs);
		snprintf(words[2], sizeof words[2], "%ld", frees);
		execl(path, argv[0], argv[1], argv[2], words[0], words[1], words[2], (char *)NULL);
		return 2;
	}
	printf("generations %d\n", generation);
	printf("calls malloc %ld free %ld\n", mallocs, frees);
	return 0;
}
