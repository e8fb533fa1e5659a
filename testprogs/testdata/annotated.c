//build: -O1 -g -Wl,-rpath,$ORIGIN -ldl
//also: libannotatedlib.so annotatedlib.c -O1 -g -shared -fPIC
// Tells hdb of its phases and of pools, which cut their blocks from chunks of malloc and mmap.
#define _DEFAULT_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "../../annotations/hdb.h"

struct pool {
	char *chunk, *next;
	size_t room;
};

static void open_pool(struct pool *p, void *chunk, size_t room)
{
	p->chunk = p->next = chunk;
	p->room = room;
	HDB_POOL_CREATE(p);
}

__attribute__((noinline)) void *pool_alloc(struct pool *p, size_t size)
{
	char *block = NULL;
	if (size <= p->room) {
		block = p->next;
		p->next += (size + 15) & ~(size_t)15;
		p->room -= (size + 15) & ~(size_t)15;
	}
	HDB_ALLOC(p, block, size);
	return block;
}

__attribute__((noinline)) void *pool_grow(struct pool *p, void *old, size_t size)
{
	void *block = size <= p->room ? p->next : NULL;
	if (block) {
		p->next += (size + 15) & ~(size_t)15;
		p->room -= (size + 15) & ~(size_t)15;
	}
	HDB_REALLOC(p, old, block, size);
	return block;
}

__attribute__((noinline)) void pool_put(struct pool *p, void *block)
{
	HDB_FREE(p, block);
}

__attribute__((noinline)) static void *keep_three(struct pool *p)
{
	void *last = NULL;
	for (int i = 1; i <= 3; i++)
		last = pool_alloc(p, 100 * i);
	return last;
}

__attribute__((noinline)) static void on_heap(void)
{
	struct pool p;
	open_pool(&p, malloc(4096), 4096);
	void *first = pool_alloc(&p, 1000); // at the address of the chunk
	void *last = keep_three(&p);
	pool_put(&p, first);
	pool_grow(&p, last, 700);
	pool_alloc(&p, 10000); // fails
	HDB_MARK("half");
	HDB_POOL_DESTROY(&p);
	free(p.chunk);
}

__attribute__((noinline)) static void kept(struct pool *p)
{
	open_pool(p, malloc(8192), 8192);
	keep_three(p);
}

__attribute__((noinline)) static void on_mmap(void)
{
	struct pool p;
	open_pool(&p, mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 8192);
	keep_three(&p);
	HDB_POOL_DESTROY(&p);
	munmap(p.chunk, 8192);
}

// Its chunk goes while blocks of it live.
__attribute__((noinline)) static void dropped(void)
{
	struct pool p;
	open_pool(&p, malloc(2048), 2048);
	keep_three(&p);
	free(p.chunk);
}

int main(int argc, char **argv)
{
	static struct pool p;
	(void)argv;
	on_heap();
	HDB_MARK("pools");
	kept(&p);
	on_mmap();
	dropped();
	HDB_PAUSE();
	void *unseen = malloc(333);
	HDB_RESUME();
#ifndef ALONE
	void *h = dlopen("libannotatedlib.so", RTLD_NOW);
	if (!h) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	void *(*get)(size_t) = (void *(*)(size_t))dlsym(h, "library_get");
	memset(get(50), 1, 50);
#endif
	if (argc > 1)
		HDB_BREAK();
	free(unseen);
	printf("used %ld\n", (long)(p.next - p.chunk));
	return 0;
}
