//build: -ldl
// A second copy of the C library, in a namespace of its own, has a second heap.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *mine[10], *theirs[10];

__attribute__((noinline)) static void wipe(void)
{
	volatile char stack[8192];
	memset((char *)stack, 0, sizeof stack);
}

__attribute__((noinline)) static void fill(void *(*allocate)(size_t), char **held, size_t size)
{
	for (int i = 0; i < 10; i++)
		held[i] = allocate(size);
	for (int i = 0; i < 3; i++)
		*(volatile char *)allocate(3000) = 1; // lost
}

__attribute__((noinline)) static void stop_here(void)
{
	__asm__ volatile("");
}

int main(void)
{
	fill(malloc, mine, 50000);
	void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
	if (!libc) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	fill((void *(*)(size_t))dlsym(libc, "malloc"), theirs, 5000);
	wipe();
	stop_here();
	puts("two");
	return 0;
}
