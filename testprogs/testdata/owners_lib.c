// A library whose own function has no name once it is stripped: see owners.cc.
#include <stdlib.h>

static __attribute__((noinline)) void *store(volatile size_t size)
{
	char *block = malloc(size);
	if (block)
		block[0] = 1;
	return block;
}

void *open_store(void)
{
	char *block = store(830000);
	if (block)
		block[1] = 1;
	return block;
}
