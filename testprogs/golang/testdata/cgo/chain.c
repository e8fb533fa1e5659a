#include <pthread.h>
#include <stdlib.h>
#include "_cgo_export.h"

// next calls the function that comes next, or allocates. It is part of its callers.
static inline __attribute__((always_inline)) void next(struct chain *c, const char *name)
{
	c->names[c->count++] = name;
	if (c->left-- == 0) {
		void *p = malloc(c->size);
		__asm__ volatile("" : : "r"(p) : "memory");
		free(p);
		return;
	}
	unsigned way = c->path & 3;
	c->path >>= 2;
	switch (way) {
	case 0: c_one(c); break;
	case 1: c_two(c); break;
	case 2: go_one(c); break;
	default: go_two(c); break;
	}
	__asm__ volatile("" : : : "memory"); // no tail call
}

__attribute__((noinline)) void c_one(struct chain *c)
{
	next(c, "c_one");
}

// One with a frame that is aligned, so that its end is found by a register.
__attribute__((noinline)) void c_two(struct chain *c)
{
	volatile char __attribute__((aligned(64))) some[128 + (c->size & 64)];
	some[0] = 1;
	next(c, "c_two");
	some[1] = 2;
}

static void *c_main(void *arg)
{
	next(arg, "c_main");
	return NULL;
}

void c_thread(struct chain *c)
{
	pthread_t t;
	if (pthread_create(&t, NULL, c_main, c) == 0)
		pthread_join(t, NULL);
}
