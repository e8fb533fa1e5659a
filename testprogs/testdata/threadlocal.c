// Threads hold blocks by thread-local variables alone: of the program, of a library whose storage is static,
// and of one whose storage the dynamic linker takes from malloc. Each thread calls held then.
//build: -pthread -Wl,-rpath,$ORIGIN -ldl
//also: libstaticlocal.so threadlocal_lib.c -g -shared -fPIC -DNAME=in_static -ftls-model=initial-exec
//also: libdynamiclocal.so threadlocal_lib.c -g -shared -fPIC -DNAME=in_dynamic
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
	struct node *next;
	long value;
};

struct cache {
	long count;
	struct node *slots[4];
};

static __thread struct cache cache;
static void (*keep_static)(void *), (*keep_dynamic)(void *);

static void keep_inside(void *block)
{
	static __thread void *inside[2];
	inside[1] = block;
}

static struct node *new_node(struct node *next, long value)
{
	struct node *n = malloc(sizeof *n);
	n->next = next;
	n->value = value;
	return n;
}

static void *opened(const char *library, const char *function)
{
	void *h = dlopen(library, RTLD_NOW);
	void *f = h ? dlsym(h, function) : NULL;
	if (!f) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return f;
}

// held has nothing of the blocks on its stack.
__attribute__((noinline)) static void held(void)
{
	asm volatile("");
}

// wipe overwrites what calls have left on the stack and in registers.
__attribute__((noinline)) static void wipe(void)
{
	volatile char dirt[16 << 10];
	for (int i = 0; i < (int)sizeof dirt; i++)
		dirt[i] = 0;
	asm volatile("xorl %%ecx, %%ecx; xorl %%edx, %%edx; xorl %%esi, %%esi; xorl %%edi, %%edi" ::: "rcx", "rdx", "rsi", "rdi");
}

static void keep(int value)
{
	cache.count = 1;
	cache.slots[2] = new_node(new_node(NULL, value + 1), value);
	keep_inside(malloc(value));
	keep_static(new_node(NULL, value + 2));
	keep_dynamic(new_node(new_node(NULL, value + 4), value + 3));
}

static void *other(void *unused)
{
	keep(200);
	wipe();
	held();
	return NULL;
}

int main(void)
{
	pthread_t thread;
	keep_static = (void (*)(void *))opened("libstaticlocal.so", "keep_in_static");
	keep_dynamic = (void (*)(void *))opened("libdynamiclocal.so", "keep_in_dynamic");
	keep(100);
	wipe();
	held();
	pthread_create(&thread, NULL, other, NULL);
	pthread_join(thread, NULL);
	return 0;
}
