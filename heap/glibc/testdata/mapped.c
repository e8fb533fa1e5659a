// Makes blocks that are mappings of their own, aligned ones among them, and has realloc shrink, grow and move them. Other
// memory of the program lies between them. It tells their addresses and usable sizes, and stops.
#define _GNU_SOURCE
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static char buffer[1 << 16];

static void foreign(void) { memset(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 'x', 4096); }

int main(void)
{
	static const size_t sizes[] = {100, 150000, 200000, 5000000};
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	mallopt(M_MMAP_THRESHOLD, 100000); // and it stays so
	for (size_t align = 16; align <= 1 << 20; align *= 2)
		for (int i = 0; i < 4; i++)
			for (int apart = 0; apart < 2; apart++) {
				void *p = memalign(align, 200000);
				if (apart)
					foreign();
				memset(p, 'p', 200000);
				p = realloc(p, sizes[i]);
				if (apart)
					foreign();
				printf("block %p %zu\n", p, malloc_usable_size(p));
			}
	printf("end\n");
	fflush(stdout);
	raise(SIGSTOP);
	return 0;
}
