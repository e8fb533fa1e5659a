// An allocator whose functions begin in as many ways as a compiler finds for
// them. It is only disassembled, never run.
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static _Thread_local struct cache { void *free[64]; size_t count; } cache;
static atomic_flag lock = ATOMIC_FLAG_INIT;
static char arena[1 << 20], *next = arena;
static double ratio = 1.5;
void (*malloc_hook)(size_t);
void *malloc_slow(size_t);

// The thread's cache first.
void *malloc(size_t n)
{
	if (cache.count > 0)
		return cache.free[--cache.count];
	if (malloc_hook)
		malloc_hook(n);
	return malloc_slow(n);
}

// A branch at once, and a loop.
void free(void *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < cache.count; i++)
		if (cache.free[i] == p)
			__builtin_trap();
	cache.free[cache.count++] = p;
}

// A spin lock is a loop near the entry.
void *malloc_slow(size_t n)
{
	while (atomic_flag_test_and_set(&lock))
		;
	char *p = next;
	next += n;
	atomic_flag_clear(&lock);
	return p;
}

// Many saved registers, and a large frame.
void *realloc(void *old, size_t n)
{
	volatile char copy[8192];
	void *p = malloc(n);
	for (size_t i = 0; i < n && i < sizeof copy; i++)
		copy[i] = ((char *)old)[i];
	for (size_t i = 0; i < n && i < sizeof copy; i++)
		((char *)p)[i] = copy[i];
	free(old);
	return p;
}

// Arithmetic with a wide result.
void *calloc(size_t n, size_t size)
{
	size_t total;
	if (__builtin_mul_overflow(n, size, &total))
		return errno = ENOMEM, NULL;
	void *p = malloc(total);
	return p ? memset(p, 0, total) : p;
}

// Tail calls.
void *aligned_alloc(size_t align, size_t n) { (void)align; return malloc(n); }
void *memalign(size_t align, size_t n) { return aligned_alloc(align, n); }
void free_sized(void *p, size_t n) { (void)n; free(p); }
void cfree(void *p) { if (p != arena) free(p); }

// Shorter than a jump.
void *valloc(size_t n) { (void)n; return NULL; }
void *pvalloc(size_t n) { return (void *)n; }
void free_aligned_sized(void *p, size_t a, size_t n) { (void)p, (void)a, (void)n; }

// Floating point, with an operand relative to RIP.
void *reallocarray(void *p, size_t n, size_t size)
{
	return realloc(p, (size_t)((double)(n * size) * ratio));
}

// Data at once, through the global offset table when it can be replaced.
int posix_memalign(void **out, size_t align, size_t n)
{
	if (malloc_hook != NULL)
		malloc_hook(align);
	*out = malloc(n);
	return *out ? 0 : ENOMEM;
}

// A value kept in memory, and a count down to the entry.
void *sbrk(intptr_t n)
{
	static intptr_t used;
	used += n;
	return arena + used;
}

int brk(void *p)
{
	next = p;
	return 0;
}
