// Makes blocks, gives one back or none, and then, behind ready, all of them; one of them twice, and at last a place on the stack.
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
		blocks[i] = malloc(i == 7 ? 300000 : i == 8 || i == 9 ? 70000 : 16 + i % 900);
	if (argc > 2 && !strcmp(argv[1], "before"))
		give(blocks[atoi(argv[2])]);
	if (argc > 3)
		give(blocks[atoi(argv[3])]);
	ready();
	for (int i = argc > 2 ? atoi(argv[2]) : 0; i < BLOCKS; i++)
		give(blocks[i]);
	if (argc > 1 && !strcmp(argv[1], "twice"))
		give(blocks[BLOCKS - 1]);
	if (argc > 1 && !strcmp(argv[1], "stack"))
		give(local + 16);
	return 0;
}
