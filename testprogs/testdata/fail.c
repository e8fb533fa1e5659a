// Every allocator function fails once.
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

int main(void)
{
	volatile size_t huge = SIZE_MAX / 4;
	void *p = (void *)1;
	int failed = 0;
	failed += malloc(huge) == NULL;
	failed += calloc(huge, 16) == NULL;
	failed += realloc(NULL, huge) == NULL;
	failed += reallocarray(NULL, huge, 16) == NULL;
	failed += aligned_alloc(64, huge) == NULL;
	failed += posix_memalign(&p, 64, huge) == ENOMEM;
	failed += posix_memalign(&p, 3, 100) == EINVAL;
	failed += mmap(NULL, huge, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED;
	printf("failed %d\n", failed);
	return 0;
}
