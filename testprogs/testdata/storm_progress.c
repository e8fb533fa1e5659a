//build: -O1 -fno-builtin
// Dies while it is recorded. It writes its pid, and after each call how many
// have returned, to 8 bytes each of a FILE that it maps; after CALLS of them it
// ends the way the argument names: kill, segv, abort, exit, or memory (it
// allocates until the kernel kills it); "never" goes on until it is killed.
// Arguments: how, calls, file, and the file of a control group to join.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile long *progress;

__attribute__((noinline)) static void one(long i)
{
	char *volatile p = malloc(100 + i % 100);
	++*progress;
	memset(p, i, 100 + i % 100);
	free(p);
	++*progress;
}

__attribute__((noinline)) static void hoard(void)
{
	for (;;) {
		char *p = malloc(1 << 20);
		++*progress;
		memset(p, 1, 1 << 20);
	}
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	long calls = atol(argv[2]);
	int fd = open(argv[3], O_RDWR | O_CREAT, 0644);
	if (fd < 0 || ftruncate(fd, 4096) != 0)
		return 2;
	progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (progress == MAP_FAILED)
		return 2;
	progress[1] = getpid();
	if (argc > 4) {
		int group = open(argv[4], O_WRONLY);
		if (group < 0 || write(group, "0", 1) != 1)
			return 2;
		close(group);
	}
	int never = strcmp(argv[1], "never") == 0;
	for (long i = 0; never || *progress < calls; i++)
		one(i);
	if (strcmp(argv[1], "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(argv[1], "segv") == 0)
		*(volatile int *)8 = 1;
	if (strcmp(argv[1], "abort") == 0)
		abort();
	if (strcmp(argv[1], "memory") == 0)
		hoard();
	_exit(0);
}
