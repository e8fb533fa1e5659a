// A library that a Python program loads with ctypes: it puts functions of its own into the
// interpreter's tables of allocators, and keeps a list of the calls that come there from
// recording_begins on until recording_ends.
#include <stddef.h>
#include <stdio.h>
#include <string.h>

// Include/cpython/pymem.h
typedef struct {
	void *ctx;
	void *(*malloc)(void *, size_t);
	void *(*calloc)(void *, size_t, size_t);
	void *(*realloc)(void *, void *, size_t);
	void (*free)(void *, void *);
} PyMemAllocatorEx;
extern void PyMem_GetAllocator(int, PyMemAllocatorEx *);
extern void PyMem_SetAllocator(int, PyMemAllocatorEx *);

enum { MOST = 1 << 20 };
static PyMemAllocatorEx former[3];
static struct { int domain; char call; size_t size; void *block, *old; } calls[MOST];
static int n, on;
static __thread int depth; // what a call does is its own affair,
static __thread void *freed; // but for other blocks that a free gives back: tracemalloc's

static void note(int domain, char call, size_t size, void *block, void *old)
{
	if (!on || depth > 1)
		return;
	int i = __atomic_fetch_add(&n, 1, __ATOMIC_RELAXED);
	if (i < MOST) {
		calls[i].domain = domain;
		calls[i].call = call;
		calls[i].size = size;
		calls[i].block = block;
		calls[i].old = old;
	}
}

static void *count_malloc(void *ctx, size_t size)
{
	PyMemAllocatorEx *f = ctx;
	depth++;
	void *p = f->malloc(f->ctx, size);
	note(f - former, 'm', size, p, NULL);
	depth--;
	return p;
}

static void *count_calloc(void *ctx, size_t count, size_t size)
{
	PyMemAllocatorEx *f = ctx;
	depth++;
	void *p = f->calloc(f->ctx, count, size);
	note(f - former, 'c', count * size, p, NULL);
	depth--;
	return p;
}

static void *count_realloc(void *ctx, void *old, size_t size)
{
	PyMemAllocatorEx *f = ctx;
	depth++;
	void *p = f->realloc(f->ctx, old, size);
	note(f - former, 'r', size, p, old);
	depth--;
	return p;
}

static void count_free(void *ctx, void *p)
{
	PyMemAllocatorEx *f = ctx;
	void *before = freed;
	int inside = depth;
	if (freed && p != freed)
		depth = 0;
	depth++;
	freed = p;
	if (p)
		note(f - former, 'f', 0, p, NULL);
	f->free(f->ctx, p);
	freed = before;
	depth = inside;
}

void install(void)
{
	for (int i = 0; i < 3; i++) {
		PyMem_GetAllocator(i, &former[i]);
		PyMemAllocatorEx a = {&former[i], count_malloc, count_calloc, count_realloc, count_free};
		PyMem_SetAllocator(i, &a);
	}
}

void recording_begins(void) { on = 1; }

void recording_ends(void) { on = 0; }

// dump writes what came.
void dump(const char *path)
{
	FILE *f = fopen(path, "w");
	for (int i = 0; i < n && i < MOST; i++)
		fprintf(f, "%d%c %zu %#zx %#zx\n", calls[i].domain, calls[i].call, calls[i].size, (size_t)calls[i].block, (size_t)calls[i].old);
	fclose(f);
}
