// An allocator for ownmalloc_late.c, with names that replacements of the C library's malloc have.
#include <stddef.h>

static char memory[1 << 20] __attribute__((aligned(16)));
static size_t used;

void *malloc(size_t n)
{
	char *p = memory + used;
	used += (n + 15) & ~(size_t)15;
	return p;
}

void free(void *p) { (void)p; }
void *mi_malloc(size_t n) { return malloc(n); }
void *__libc_malloc(size_t n) { return malloc(n); }
