// A handler on its own stack is interrupted by a handler on the same stack; the
// program was interrupted by a fault in the middle of a function.
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static char stack[1 << 16];

__attribute__((noinline)) void stop_here(void) { __asm__ volatile("" ::: "memory"); }

static void inner(int sig) { stop_here(); }

static void outer(int sig, siginfo_t *info, void *context)
{
	stop_here();
	raise(SIGUSR1);
	stop_here();
	_exit(0);
}

__attribute__((noinline)) int fault(int *p, int n) { return n + *p; }

int main(int argc, char **argv)
{
	struct sigaction a = {0};
	if (argc > 1) {
		stack_t s = {.ss_sp = stack, .ss_size = sizeof stack};
		sigaltstack(&s, 0);
		a.sa_flags = SA_ONSTACK;
	}
	a.sa_flags |= SA_SIGINFO;
	a.sa_sigaction = outer;
	sigaction(SIGSEGV, &a, 0);
	signal(SIGUSR1, inner);
	return fault((int *)8, argc) + 1;
}
