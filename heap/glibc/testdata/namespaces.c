// Has copies of the C library in namespaces of their own (dlmopen(3)), and two threads that allocate from all of them until
// each heap has several mappings. It tells the blocks, "block COPY ADDRESS USABLE", and
// what fs is in the threads. Then it stops. `namespaces COPIES [break|gone]`; with break it first writes behind some blocks of the
// copies' main arenas, and tells "broken COPY ADDRESS" of the chunks there; with gone another copy has been used and unloaded before,
// which leaves the memory of its main arena.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COPIES = 4, SLOTS = 6000 };

static struct copy {
	void *(*malloc)(size_t);
	void (*free)(void *);
	size_t (*usable)(void *);
	char *slots[SLOTS];
} copies[COPIES] = {{malloc, free, malloc_usable_size}};
static int count;
static unsigned seed = 1;

static unsigned below(unsigned n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

static void *fill(void *arg)
{
	int from = arg ? SLOTS / 2 : 0;
	for (int i = 0; i < count * SLOTS; i++) {
		struct copy *c = &copies[below(count)];
		char **slot = &c->slots[from + below(SLOTS / 2)];
		size_t size = below(400) == 0 ? 150000 : below(2000);
		c->free(*slot);
		*slot = below(4) ? memset(c->malloc(size), 1, size) : NULL;
	}
	return NULL;
}

static void breaks(int k)
{
	for (int i = 0; i < SLOTS / 2; i++) {
		char *block = copies[k].slots[i];
		if (!block || i % 50 || ((size_t *)block)[-1] & 6) // of a mapping of its own, or of another arena
			continue;
		char *next = block + copies[k].usable(block);
		*(size_t *)next = 0x4141414141414141;
		printf("broken %d %p\n", k, next - 8);
	}
}

static pthread_barrier_t filled;

static void *second(void *arg)
{
	fill(arg);
	pthread_barrier_wait(&filled);
	pthread_barrier_wait(&filled);
	return NULL;
}

int main(int argc, char **argv)
{
	static char buffer[1 << 21];
	setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
	count = 1 + atoi(argv[1]);
	if (argc > 2 && strcmp(argv[2], "gone") == 0) {
		void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
		void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(libc, "malloc");
		for (int i = 0; i < 5000; i++)
			allocate(below(2000));
		dlclose(libc);
	}
	for (struct copy *c = copies + 1; c < copies + count; c++) {
		void *libc = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
		if (!libc) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		c->malloc = (void *(*)(size_t))dlsym(libc, "malloc");
		c->free = (void (*)(void *))dlsym(libc, "free");
		c->usable = (size_t(*)(void *))dlsym(libc, "malloc_usable_size");
	}
	fill(NULL);
	pthread_t t;
	pthread_barrier_init(&filled, NULL, 2);
	pthread_create(&t, NULL, second, &filled);
	pthread_barrier_wait(&filled);
	for (int k = 0; k < count; k++)
		for (int i = 0; i < SLOTS; i++)
			if (copies[k].slots[i])
				printf("block %d %p %zu\n", k, copies[k].slots[i], copies[k].usable(copies[k].slots[i]));
	for (int k = 1; k < count && argc > 2 && strcmp(argv[2], "break") == 0; k++)
		breaks(k);
	printf("threads %p %p\n", (void *)pthread_self(), (void *)t);
	fflush(stdout);
	raise(SIGSTOP);
	return 0;
}
