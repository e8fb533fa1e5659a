//build: -O1 -fno-builtin -static
// malloc and free of the program itself are indirect functions: a resolver says
// at the start which code is to be used. A dynamic linker refuses that in a
// program, so this one is static.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char arena[1 << 26] __attribute__((aligned(16)));
static size_t used;

static void *bump(size_t n)
{
	size_t at = __atomic_fetch_add(&used, ((n + 15) & ~(size_t)15) + 16, __ATOMIC_RELAXED);
	*(size_t *)(arena + at) = n;
	return arena + at + 16;
}

static void forget(void *p)
{
	if (p)
		memset(p, 0xdd, *(size_t *)((char *)p - 16));
}

static void *(*resolve_malloc(void))(size_t) { return bump; }
static void (*resolve_free(void))(void *) { return forget; }

void *malloc(size_t n) __attribute__((ifunc("resolve_malloc")));
void free(void *p) __attribute__((ifunc("resolve_free")));

void *calloc(size_t n, size_t size) { return memset(bump(n * size), 0, n * size); }

void *realloc(void *p, size_t n)
{
	void *q = bump(n);
	if (p)
		memcpy(q, p, *(size_t *)((char *)p - 16) < n ? *(size_t *)((char *)p - 16) : n);
	return q;
}

int main(int argc, char **argv)
{
	int calls = argc > 1 ? atoi(argv[1]) : 100, wrong = 0;
	for (int i = 0; i < calls; i++) {
		unsigned char *p = malloc(10 + i % 100);
		memset(p, i, 10 + i % 100);
		wrong += p[9 + i % 100] != (unsigned char)i;
		free(p);
	}
	printf("wrong %d\n", wrong);
	printf("calls malloc %d free %d\n", calls, calls);
	return wrong;
}
