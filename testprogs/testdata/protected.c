// Mappings of the program that hold blocks: read-only, executable and inaccessible once they are filled. A fourth block is lost.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static void **filled(size_t size, int protection)
{
	void **table = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	table[300] = malloc(size);
	mprotect(table, 1 << 16, protection);
	return table;
}

static void **tables[3];

static void fill(void)
{
	tables[0] = filled(1000, PROT_READ);
	tables[1] = filled(2000, PROT_EXEC | PROT_READ);
	tables[2] = filled(3000, PROT_NONE);
	*(volatile char *)malloc(4000) = 1;
}

static void clear(void)
{
	volatile char stack[20000];
	for (size_t i = 0; i < sizeof stack; i++)
		stack[i] = 0;
}

int main(void)
{
	fill();
	clear();
	puts("filled");
	return 0;
}
