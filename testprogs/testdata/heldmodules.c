// Blocks of a library that is gone, of idle workers of a pool of threads, and of coroutines. The functions that allocate them say
// how they are held, as in held.c.
//build: -pthread -O0 -g -ldl -Wl,-rpath,$ORIGIN -Wl,-z,now
//also: libheldfirst.so heldmodules.c -shared -fPIC -O0 -g -DFIRST
//also: libheldsecond.so heldmodules.c -shared -fPIC -O0 -g -DSECOND
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

struct node {
	struct node *next;
	void *data;
};

#if defined FIRST || defined SECOND

// A library. Both have the same layout.

static void *data[8];
static struct node *chain;
static __thread void *tls;

#ifdef FIRST

static NOINLINE void *lose_first_data(void) { return calloc(1, 4001); }
static NOINLINE struct node *lose_first_chain(void) { return calloc(1, sizeof(struct node)); }
static NOINLINE void *under_first_chain(void) { return calloc(1, 4002); }
static NOINLINE void *lose_first_tls(void) { return calloc(1, 4003); }
static NOINLINE void *keep_first_given(void) { return calloc(1, 4004); }

void *plugin(void)
{
	data[3] = lose_first_data();
	chain = lose_first_chain();
	chain->data = under_first_chain();
	tls = lose_first_tls();
	return keep_first_given();
}

#else

static NOINLINE void *keep_second_data(void) { return calloc(1, 4011); }
static NOINLINE struct node *keep_second_chain(void) { return calloc(1, sizeof(struct node)); }
static NOINLINE void *keep_second_chain_data(void) { return calloc(1, 4012); }
static NOINLINE void *keep_second_tls(void) { return calloc(1, 4013); }
static NOINLINE void *keep_second_given(void) { return calloc(1, 4014); }

void *plugin(void)
{
	data[3] = keep_second_data();
	chain = keep_second_chain();
	chain->data = keep_second_chain_data();
	tls = keep_second_tls();
	return keep_second_given();
}

#endif
#else

static void *given[2];

static NOINLINE void wipe(void)
{
	volatile char dirt[64 << 10];
	for (size_t i = 0; i < sizeof dirt; i++)
		dirt[i] = 0;
}

// libraries has one that comes and goes, and one that stays in its place.
static NOINLINE void libraries(void)
{
	void *first = dlopen("libheldfirst.so", RTLD_NOW);
	void *(*plugin)(void) = (void *(*)(void))dlsym(first, "plugin");
	struct link_map *map;
	dlinfo(first, RTLD_DI_LINKMAP, &map);
	void *was = (void *)map->l_addr;
	given[0] = plugin();
	dlclose(first);
	// The second one comes to lie elsewhere; in replaced.c both have the same place.
	if (mmap(was, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != was)
		puts("the first library is still there");
	void *second = dlopen("libheldsecond.so", RTLD_NOW);
	plugin = (void *(*)(void))dlsym(second, "plugin");
	given[1] = plugin();
}

enum { WORKERS = 4 };

static NOINLINE void *keep_worker(void) { return calloc(1, 5001); }
static NOINLINE void *keep_worker_scratch(void) { return calloc(1, 5002); }
static NOINLINE struct node *keep_queue(void) { return calloc(1, sizeof(struct node)); }
static NOINLINE void *keep_queue_job(void) { return calloc(1, 5003); }
static NOINLINE void *lose_job(void) { return calloc(1, 5004); }
static NOINLINE void *lose_deep(void) { return calloc(1, 5005); }
static NOINLINE void *maybe_cursor(void) { return calloc(1, 5006); }

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, idle = PTHREAD_COND_INITIALIZER;
static struct node *queue;
static int waiting, ending;

// deep leaves addresses in stack that is not used any more.
static NOINLINE void deep(int n)
{
	void *volatile here = lose_deep();
	if (n > 0)
		deep(n - 1);
	here = 0;
}

static NOINLINE void job(void)
{
	void *volatile forgotten = lose_job();
	forgotten = 0;
	deep(2);
}

// An idle worker has its own block, and one for scratch, and stands within a third one.
static NOINLINE void *works(void *own)
{
	void *volatile mine = own;
	void *volatile scratch[2] = {0, keep_worker_scratch()};
	char *volatile cursor = (char *)maybe_cursor() + 6;
	for (int jobs = 0; jobs < 5; jobs++) {
		job();
		wipe();
	}
	pthread_mutex_lock(&lock);
	waiting++;
	pthread_cond_signal(&idle);
	while (!ending)
		pthread_cond_wait(&work, &lock);
	pthread_mutex_unlock(&lock);
	scratch[0] = mine;
	cursor++;
	return 0;
}

static NOINLINE void pool(pthread_t workers[WORKERS])
{
	for (int i = 0; i < WORKERS; i++)
		pthread_create(&workers[i], 0, works, keep_worker());
	for (int i = 0; i < 3; i++) {
		struct node *n = keep_queue();
		n->data = keep_queue_job();
		n->next = queue;
		queue = n;
	}
	pthread_mutex_lock(&lock);
	while (waiting < WORKERS)
		pthread_cond_wait(&idle, &lock);
	pthread_mutex_unlock(&lock);
}

static NOINLINE void *keep_coroutine_stack(void) { return malloc(64 << 10); }
static NOINLINE void *keep_on_coroutine(void) { return calloc(1, 6001); }
static NOINLINE void *lose_coroutine_stack(void) { return malloc(64 << 10); }
static NOINLINE void *under_coroutine(void) { return calloc(1, 6002); }
static NOINLINE void *lose_freed_coroutine(void) { return calloc(1, 6003); }
static NOINLINE void *lose_unmapped_coroutine(void) { return calloc(1, 6004); }
static NOINLINE void *keep_mapped_coroutine(void) { return calloc(1, 6005); }
static NOINLINE void *keep_main_stack(void) { return calloc(1, 6006); }

static ucontext_t back, context[5];
static void *(*makes[5])(void) = {keep_on_coroutine, under_coroutine, lose_freed_coroutine, lose_unmapped_coroutine, keep_mapped_coroutine};

static void *passed; // to a coroutine: what malloc leaves on a stack is not of interest here

static NOINLINE void coroutine(int i)
{
	void *volatile here = passed;
	passed = 0;
	swapcontext(&context[i], &back);
	here = 0;
}

static NOINLINE void enter(int i, void *stack)
{
	getcontext(&context[i]);
	context[i].uc_stack.ss_sp = stack;
	context[i].uc_stack.ss_size = 64 << 10;
	makecontext(&context[i], (void (*)(void))coroutine, 1, i);
	passed = makes[i]();
	swapcontext(&back, &context[i]);
}

static NOINLINE void *map_stack(void)
{
	return mmap(0, 64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static NOINLINE void coroutines(void)
{
	static void *held;
	held = keep_coroutine_stack();
	enter(0, held);
	enter(1, lose_coroutine_stack());
	void *freed = malloc(64 << 10);
	enter(2, freed);
	free(freed);
	void *unmapped = map_stack();
	enter(3, unmapped);
	munmap(unmapped, 64 << 10);
	enter(4, map_stack());
	memset(&context[1], 0, sizeof context[1]); // with its stack pointer
	memset(&context[2], 0, sizeof context[2]);
	memset(&context[3], 0, sizeof context[3]);
}

extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

// See held.c.
static NOINLINE void ask_checkers(void)
{
	volatile unsigned long request[6] = {0x4d430006}; // VG_USERREQ__DO_LEAK_CHECK
	unsigned long result = 0;
	asm volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
		: "+d"(result) : "a"(request) : "cc", "memory");
	if (__lsan_do_recoverable_leak_check)
		__lsan_do_recoverable_leak_check();
}

NOINLINE void at_rest(void)
{
	asm volatile("");
}

int main(void)
{
	static pthread_t workers[WORKERS];
	void *volatile on_stack = keep_main_stack();
	libraries();
	pool(workers);
	coroutines();
	wipe();
	ask_checkers();
	asm volatile("xorl %%eax, %%eax; xorl %%ecx, %%ecx; xorl %%edx, %%edx; xorl %%esi, %%esi; xorl %%edi, %%edi;"
		"xorl %%r8d, %%r8d; xorl %%r9d, %%r9d; xorl %%r10d, %%r10d; xorl %%r11d, %%r11d"
		::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"); // where old addresses may stand
	at_rest();
	pthread_mutex_lock(&lock);
	ending = 1;
	pthread_cond_broadcast(&work);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], 0);
	on_stack = 0;
	return 0;
}

#endif
