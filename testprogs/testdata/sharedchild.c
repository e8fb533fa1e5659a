// sharedchild: makes 100 blocks, 200 while a child by clone(CLONE_VM) runs in its memory, which makes none,
// and 100 behind.
//build: -O1
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char stack[65536];
static volatile int last;
static void *volatile kept[400];

__attribute__((noinline)) static void hold(int i) { kept[i] = malloc(100); }

static int child(void *unused)
{
	while (!last)
		syscall(SYS_sched_yield);
	syscall(SYS_exit, 0);
	return 0;
}

int main(void)
{
	int i = 0;
	while (i < 100)
		hold(i++);
	int pid = clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, 0);
	while (i < 300)
		hold(i++);
	last = 1;
	waitpid(pid, 0, 0);
	while (i < 400)
		hold(i++);
	return 0;
}
