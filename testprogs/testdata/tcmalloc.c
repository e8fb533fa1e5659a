//build: -Wl,--no-as-needed -ltcmalloc
// The allocator is tcmalloc's, linked in.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	void *blocks[100];
	for (int i = 0; i < 100; i++)
		blocks[i] = memset(malloc(1000 + i), 1, 1000 + i);
	void *large = calloc(3, 1 << 20);
	for (int i = 0; i < 100; i++)
		free(blocks[i]);
	large = realloc(large, 5 << 20);
	free(large);
	puts("done");
	return 0;
}
