//build: -O2 -shared -fPIC
// Counts allocator calls without a debugger: preloaded into a program, it
// writes the calls that allocate and those that free (of something) to the
// file that MICROCOUNT names when the program ends.
#include <stdatomic.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static atomic_long allocs, frees;

void *malloc(size_t n)
{
	allocs++;
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	allocs++;
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	allocs++;
	return __libc_realloc(p, n);
}

void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;
	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(p, bytes);
}

void *memalign(size_t align, size_t n)
{
	allocs++;
	return __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
	return memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
	void *block = memalign(align, n);
	if (!block)
		return ENOMEM;
	*p = block;
	return 0;
}

void free(void *p)
{
	frees += p != NULL;
	__libc_free(p);
}

__attribute__((destructor)) static void report(void)
{
	long a = allocs, f = frees;
	const char *path = getenv("MICROCOUNT");
	FILE *out = path ? fopen(path, "w") : NULL;
	if (!out)
		return;
	fprintf(out, "allocs %ld frees %ld\n", a, f);
	fclose(out);
}
