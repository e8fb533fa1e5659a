// An allocation in a signal handler that runs on its own stack, so that the
// stack crosses a signal frame. The signal comes from a fault at a known
// instruction, and the handler ends the program.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((noinline)) static void report(void)
{
	free(malloc(7777));
}

static void on_fault(int sig)
{
	(void)sig;
	report();
	_exit(3);
}

__attribute__((noinline)) static int fault(volatile int *p)
{
	return *p + 1;
}

int main(void)
{
	stack_t st = {.ss_sp = malloc(65536), .ss_size = 65536};
	sigaltstack(&st, NULL);
	struct sigaction sa = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
	sigaction(SIGSEGV, &sa, NULL);
	return fault(NULL);
}
