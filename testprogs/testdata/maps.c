// The kernel's allocators: mmap, mremap, munmap, brk.
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void)
{
	char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 1, 1 << 20);
	p = mremap(p, 1 << 20, 4 << 20, MREMAP_MAYMOVE);
	memset(p, 2, 4 << 20);
	munmap(p, 4 << 20);
	char *top = sbrk(0);
	if (brk(top + 65536) != 0)
		return 1;
	memset(top, 3, 65536);
	int last = top[65535];
	if (brk(top) != 0)
		return 1;
	printf("%d\n", last);
	return 0;
}
