// Memory of the program that looks like malloc's: words like headers of chunks in mappings on both sides of what the main arena got
// by mmap, and a mapping with the header of a mmapped chunk; and mmapped chunks of which the program has advised about or protected a part. It tells what mallinfo2 says, and stops.
#define _GNU_SOURCE
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *kept[300];

static char *like_chunks(void)
{
	char *mine = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 1 << 20; i += 32)
		((size_t *)(mine + i))[1] = 0x21;
	return mine;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "segment") == 0) {
		mallopt(M_MMAP_THRESHOLD, 16 << 20);
		kept[0] = malloc(100);
		mmap(sbrk(0), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0); // in the way of brk
		like_chunks();
		for (int i = 0; i < 300; i++)
			kept[i] = malloc(2000);
		like_chunks();
	} else if (argc > 1 && strcmp(argv[1], "advised") == 0) {
		kept[10] = memalign(4096, 4 * 4096);
		mprotect((char *)kept[10] + 8192, 4096, PROT_READ);
		kept[11] = malloc(5000);
		for (int i = 0; i < 3; i++) {
			kept[i] = malloc(8 << 20);
			char *inner = (char *)(((size_t)kept[i] + (1 << 20)) & -4096);
			i == 0 ? madvise(inner, 1 << 20, MADV_DONTDUMP) : i == 1 ? mprotect(inner, 4096, PROT_READ) : mprotect(inner, 4096, PROT_NONE);
		}
	} else {
		size_t *mine = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mine[1] = 1 << 20 | 2;
		kept[0] = malloc(1 << 20);
	}
	struct mallinfo2 info = mallinfo2();
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("arena %zu mapped %zu %zu\n", info.arena, info.hblks, info.hblkhd);
	fflush(stdout);
	raise(SIGSTOP);
}
