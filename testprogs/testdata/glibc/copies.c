// Allocates from its own C library and from a copy of one, and stops. `copies open|namespace FILE [nobrk]` loads FILE by
// dlopen, as static programs must, or into a namespace of its own; with nobrk its own heap cannot grow by brk.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *mine[20], *theirs[20];

int main(int argc, char **argv)
{
	void *end = (void *)(((uintptr_t)sbrk(0) + 4095) & -4096);
	if (argc > 3 && mmap(end, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != end)
		return 2;
	void *libc = strcmp(argv[1], "open") ? dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW) : dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
	if (!libc) {
		puts(dlerror());
		return 1;
	}
	void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(libc, "malloc");
	for (int i = 0; i < 20; i++) {
		mine[i] = malloc(50000);
		theirs[i] = allocate(50000);
	}
	raise(SIGTRAP);
	return 0;
}
