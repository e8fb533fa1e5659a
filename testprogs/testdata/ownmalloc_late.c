//build: -Wl,-rpath,$ORIGIN -ldl
//also: libownmalloc.so ownmalloc.c -shared -fPIC -fno-builtin
// Loads an allocator for itself: the program's malloc stays the C library's.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *mine[10], *theirs[7];

__attribute__((noinline)) static void wipe(void)
{
	volatile char stack[8192];
	memset((char *)stack, 0, sizeof stack);
}

__attribute__((noinline)) static void lose(void)
{
	for (int i = 0; i < 3; i++)
		*(volatile char *)malloc(3000) = 1;
}

__attribute__((noinline)) static void stop_here(void)
{
	__asm__ volatile("");
}

int main(void)
{
	for (int i = 0; i < 10; i++)
		mine[i] = malloc(50000);
	lose();
	void *library = dlopen("libownmalloc.so", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(library, "malloc");
	for (int i = 0; i < 7; i++)
		theirs[i] = allocate(2000);
	wipe();
	stop_here();
	puts(mine[9] && theirs[6] ? "both" : "null");
	return 0;
}
