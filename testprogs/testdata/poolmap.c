//build: -O1 -g
// Has pools whose chunks are mappings: one by hdb.h, one that only `alloc add` names. Each uses a part of its
// mapping; a third mapping is the program's own.
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include "../../annotations/hdb.h"

enum { MIB = 1 << 20 };

static char *next_told, *next_named;

__attribute__((noinline)) void *map(size_t size)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

__attribute__((noinline)) void *told_get(size_t size)
{
	char *block = next_told;
	next_told += size;
	HDB_ALLOC(&next_told, block, size);
	return block;
}

__attribute__((noinline)) void *named_get(size_t size)
{
	char *block = next_named;
	next_named += size;
	return block;
}

__attribute__((noinline)) void use(void)
{
	for (int i = 0; i < 3; i++)
		told_get(MIB);
	for (int i = 0; i < 2; i++)
		named_get(MIB);
}

__attribute__((noinline)) void done(void) { __asm__ volatile("" ::: "memory"); }

int main(void)
{
	next_told = map(16 * MIB);
	next_named = map(8 * MIB);
	char *own = map(MIB);
	own[0] = 1;
	use();
	done();
	puts("done");
	return 0;
}
