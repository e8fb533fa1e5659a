//build: -Wl,-rpath,$ORIGIN -ldl -pthread
//also: libplugin.so plugin.c -shared -fPIC
// Maps memory in all the ways there are. What lives in the end is told at each function.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MiB = 1 << 20 };

#define NOINLINE __attribute__((noipa))

static char *map(size_t size, int prot, int flags, int fd)
{
	char *p = mmap(NULL, size, prot, flags, fd, 0);
	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

static char *anonymous(size_t size)
{
	return map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

// 100 MiB in 5 mappings.
NOINLINE void leak(void)
{
	for (int i = 0; i < 5; i++)
		anonymous(20 * MiB)[0] = 1;
}

// Nothing.
NOINLINE void give_back(void)
{
	char *p = anonymous(8 * MiB);
	p[0] = 1;
	munmap(p, 8 * MiB);
}

// 5 MiB in one mapping of 8: its middle and its end are given back.
NOINLINE void partly(void)
{
	char *p = anonymous(8 * MiB);
	munmap(p + 1 * MiB, 2 * MiB);
	munmap(p + 7 * MiB, 1 * MiB);
}

// 6 MiB in one mapping, which grew and moved.
NOINLINE void grow(void)
{
	char *p = anonymous(2 * MiB);
	anonymous(4096); // 4 KiB which may be in the way
	p = mremap(p, 2 * MiB, 6 * MiB, MREMAP_MAYMOVE);
	p[6 * MiB - 1] = 1;
}

// 4 MiB in two mappings: the second one took a quarter of the first.
NOINLINE void replace(void)
{
	char *p = anonymous(4 * MiB);
	mmap(p + 2 * MiB, 1 * MiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

// 3 MiB that are shared.
NOINLINE void share(void)
{
	map(3 * MiB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
}

// 8 KiB of a file: it has two pages, and a bit.
NOINLINE void read_file(const char *self)
{
	int fd = open(self, O_RDONLY);
	map(4097, PROT_READ, MAP_PRIVATE, fd);
	close(fd);
}

// 64 MiB of addresses, of which mprotect makes 2 MiB memory and takes a half of them back.
NOINLINE void reserve(void)
{
	char *p = map(64 * MiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	mprotect(p + 16 * MiB, 2 * MiB, PROT_READ | PROT_WRITE);
	p[16 * MiB] = 1;
	mprotect(p + 17 * MiB, 1 * MiB, PROT_NONE);
}

// 1 MiB of the heap, which is no mapping of the program's.
NOINLINE void *allocate(void)
{
	return malloc(1 * MiB);
}

static void *idle(void *arg) { return arg; }

// A stack that the C library keeps.
NOINLINE void thread(void)
{
	pthread_t t;
	if (pthread_create(&t, NULL, idle, NULL) == 0)
		pthread_join(t, NULL);
}

// A library that stays.
NOINLINE void library(void)
{
	if (dlopen("libplugin.so", RTLD_NOW) == NULL)
		puts(dlerror());
}

NOINLINE void done(void *block)
{
	static void *volatile kept;
	kept = block;
}

int main(int argc, char **argv)
{
	leak();
	give_back();
	partly();
	grow();
	replace();
	share();
	read_file(argv[0]);
	reserve();
	void *block = allocate();
	thread();
	library();
	done(block);
	puts("mapped");
	return 0;
}
