// Makes blocks, and then, behind ready, gives them back; one of them twice, and at last a place on the stack.
//build: -O0
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 5000 };

static void *blocks[BLOCKS];

__attribute__((noinline)) static void ready(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) static void give(void *p)
{
	free(p);
}

int main(int argc, char **argv)
{
	char local[64];
	for (int i = 0; i < BLOCKS; i++)
		blocks[i] = malloc(i == 7 ? 300000 : 16 + i % 900);
	ready();
	for (int i = 0; i < BLOCKS; i++)
		give(blocks[i]);
	if (argc > 1 && !strcmp(argv[1], "twice"))
		give(blocks[BLOCKS - 1]);
	if (argc > 1 && !strcmp(argv[1], "stack"))
		give(local + 16);
	return 0;
}
