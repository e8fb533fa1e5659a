// Dies in the way the argument names, for the explanations of signals.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int zero;

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	if (strcmp(how, "read") == 0)
		return *(volatile int *)0;
	if (strcmp(how, "readonly") == 0)
		*(volatile char *)mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
	if (strcmp(how, "jump") == 0)
		((void (*)(void))0x10)();
	if (strcmp(how, "noncanonical") == 0)
		return *(volatile int *)0x8000000000000000;
	if (strcmp(how, "divide") == 0)
		return 100 / zero;
	if (strcmp(how, "illegal") == 0)
		__builtin_trap();
	if (strcmp(how, "bus") == 0) {
		FILE *f = tmpfile();
		return *(volatile char *)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(f), 0);
	}
	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(how, "term") == 0)
		raise(SIGTERM);
	if (strcmp(how, "exit") == 0)
		return 42;
	fprintf(stderr, "crashes: %s?\n", how);
	return 2;
}
