// A child asks to be traced: "v" is one of vfork, "f" one of fork, "r" one of vfork that makes the bare
// system call. It prints how many of 20 could.
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static long raw(long nr, long a)
{
	long v;
	__asm__ volatile("syscall" : "=a"(v) : "a"(nr), "D"(a), "S"(0), "d"(0) : "rcx", "r11", "memory");
	return v;
}

int main(int argc, char **argv)
{
	int good = 0, status;
	char how = argc > 1 ? argv[1][0] : 'v';
	for (int i = 0; i < 20; i++) {
		pid_t pid = how == 'f' ? fork() : vfork();
		if (!pid)
			_exit((how == 'r' ? raw(SYS_ptrace, PTRACE_TRACEME) : ptrace(PTRACE_TRACEME, 0, 0, 0)) ? 1 : 0);
		waitpid(pid, &status, 0);
		good += WIFEXITED(status) && !WEXITSTATUS(status);
	}
	printf("%d of 20 traced\n", good);
	return 0;
}
