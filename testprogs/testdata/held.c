// Blocks that are held and lost in every way there is. The function that allocates a block says
// how: keep_ still reachable, maybe_ possibly lost, lose_ definitely lost, under_ indirectly lost.
// at_rest is called when all are made, at_end when it has been told to end.
//build: -pthread -O0 -g
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
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
	char name[16];
};

struct table {
	long count;
	struct node *buckets[4];
};

static void *global;
static void *relro_like[2] = {(void *)1, 0};
static struct table table;
static struct node *list;
static __thread void *tls;
static void *hidden; // a pointer to a keep block, xored
static char *interior, *onepast;
static void **private_map, **shared_map;
static pthread_key_t low, high;
static volatile int ending;
static sem_t ready;

static NOINLINE void *keep_global(void) { return malloc(1001); }
static NOINLINE void *keep_static_array(void) { return malloc(1002); }
static NOINLINE void *keep_bucket(void) { return calloc(1, sizeof(struct node)); }
static NOINLINE void *keep_list(void) { return calloc(1, sizeof(struct node)); }
static NOINLINE void *keep_list_data(void) { return malloc(1003); }
static NOINLINE void *keep_tls(void) { return malloc(1004); }
static NOINLINE void *keep_stack(void) { return malloc(1005); }
static NOINLINE void *keep_private_map(void) { return malloc(1006); }
static NOINLINE void *keep_shared_map(void) { return malloc(1007); }
static NOINLINE void *keep_key_low(void) { return malloc(1008); }
static NOINLINE void *keep_key_high(void) { return malloc(1009); }
static NOINLINE void *keep_thread_argument(void) { return malloc(1010); }
static NOINLINE void *keep_thread_stack(void) { return malloc(1011); }
static NOINLINE void *keep_thread_tls(void) { return malloc(1012); }
static NOINLINE void *keep_thread_key(void) { return malloc(1013); }
static NOINLINE void *keep_thread_result(void) { return malloc(1014); }
static NOINLINE void *keep_large(void) { return malloc(1 << 20); }
static NOINLINE void *keep_coroutine_mapped(void) { return malloc(1015); }
static NOINLINE void *keep_coroutine_malloced(void) { return malloc(1016); }
static NOINLINE void *keep_malloced_stack(void) { return malloc(64 << 10); }
static NOINLINE void *keep_realloced(void) { return realloc(malloc(17), 1017); }
static NOINLINE void *keep_putenv(void) { return strdup("HELD=1"); }
static NOINLINE void *keep_aligned(void) { return aligned_alloc(4096, 8192); }
static NOINLINE void *keep_empty(void) { return malloc(0); }
static NOINLINE void *keep_jump(void) { return calloc(1, sizeof(jmp_buf)); }

static NOINLINE void *maybe_interior(void) { return malloc(2001); }
static NOINLINE void *maybe_large(void) { return malloc(2 << 20); }
static NOINLINE void *maybe_under(void) { return malloc(2002); }

static NOINLINE void *lose_plain(void) { return malloc(3001); }
static NOINLINE void *lose_large(void) { return malloc(3 << 20); }
static NOINLINE void *lose_head(void) { return calloc(1, sizeof(struct node)); }
static NOINLINE void *under_head(void) { return malloc(3002); }
static NOINLINE void *lose_cycle(void) { return calloc(1, sizeof(struct node)); }
static NOINLINE void *under_cycle(void) { return calloc(1, sizeof(struct node)); }
static NOINLINE void *lose_hidden(void) { return malloc(3003); }
static NOINLINE void *lose_realloced(void) { return realloc(malloc(18), 3004); }
static NOINLINE void *lose_thread_stack(void) { return malloc(3005); }
static NOINLINE void *lose_dead_tls(void) { return malloc(3006); }
static NOINLINE void *lose_one_past(void) { return malloc(3016); }
static NOINLINE void *lose_misaligned(void) { return malloc(3007); }

static struct {
	char pad[4];
	char pointer[12];
} misaligned;

static NOINLINE void hold_globals(void)
{
	global = keep_global();
	relro_like[1] = keep_static_array();
	table.count = 1;
	table.buckets[2] = keep_bucket();
	list = keep_list();
	list->next = keep_list();
	list->next->data = keep_list_data();
	tls = keep_tls();
	pthread_setspecific(low, keep_key_low());
	pthread_setspecific(high, keep_key_high());
	private_map = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	shared_map = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	private_map[3] = keep_private_map();
	shared_map[5] = keep_shared_map();
	static void *large, *realloced, *aligned, *empty;
	large = keep_large();
	realloced = keep_realloced();
	aligned = keep_aligned();
	empty = keep_empty();
	putenv(keep_putenv());
}

static NOINLINE void drop_some(void)
{
	struct node *a, *b;
	lose_plain();
	lose_large();
	a = lose_head();
	a->data = under_head();
	a = lose_cycle();
	b = under_cycle();
	if (b < a) { // the lower one is the one that is lost
		struct node *c = a;
		a = b;
		b = c;
	}
	a->next = b;
	b->next = a;
	hidden = (void *)((uintptr_t)lose_hidden() ^ ~(uintptr_t)0);
	lose_realloced();
	interior = (char *)maybe_interior() + 100;
	static void **large;
	large = (void **)((char *)maybe_large() + (1 << 20));
	large[1] = maybe_under();
	onepast = (char *)lose_one_past() + 3016;
	void *m = lose_misaligned();
	memcpy(misaligned.pointer, &m, sizeof m);
}

static NOINLINE void *result_of(void *unused)
{
	return keep_thread_result();
}

static NOINLINE void use_stack(void)
{
	void *volatile here = lose_thread_stack();
	here = 0;
}

static NOINLINE void *ends(void *unused)
{
	tls = lose_dead_tls();
	return 0;
}

static NOINLINE void *runs(void *argument)
{
	argument = 0;
	void *volatile on_stack = keep_thread_stack();
	tls = keep_thread_tls();
	pthread_setspecific(low, keep_thread_key());
	use_stack();
	sem_post(&ready);
	while (!ending)
		usleep(1000);
	return on_stack;
}

static ucontext_t back, mapped, malloced;

static NOINLINE void in_mapped(void)
{
	void *volatile here = keep_coroutine_mapped();
	swapcontext(&mapped, &back);
	here = 0;
}

static NOINLINE void in_malloced(void)
{
	void *volatile here = keep_coroutine_malloced();
	swapcontext(&malloced, &back);
	here = 0;
}

static NOINLINE void coroutines(void)
{
	static void *stack;
	getcontext(&mapped);
	mapped.uc_stack.ss_sp = mmap(0, 64 << 10, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mapped.uc_stack.ss_size = 64 << 10;
	makecontext(&mapped, in_mapped, 0);
	swapcontext(&back, &mapped);
	getcontext(&malloced);
	stack = keep_malloced_stack();
	malloced.uc_stack.ss_sp = stack;
	malloced.uc_stack.ss_size = 64 << 10;
	makecontext(&malloced, in_malloced, 0);
	swapcontext(&back, &malloced);
}

static NOINLINE void wipe(void)
{
	volatile char dirt[64 << 10];
	for (size_t i = 0; i < sizeof dirt; i++)
		dirt[i] = 0;
}

extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

// The leak checkers of LeakSanitizer and of valgrind look here, if the program runs with one.
// The request of valgrind's is instructions that do nothing (valgrind.h, memcheck.h).
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

NOINLINE void at_end(void)
{
	asm volatile("");
}

static NOINLINE void make(pthread_t threads[3])
{
	pthread_key_t spare;
	pthread_key_create(&low, 0);
	for (int i = 0; i < 40; i++)
		pthread_key_create(&spare, 0);
	pthread_key_create(&high, 0);
	hold_globals();
	drop_some();
	coroutines();
	static jmp_buf *jump;
	jump = keep_jump();
	setjmp(*jump);
	pthread_create(&threads[0], 0, runs, keep_thread_argument());
	sem_wait(&ready);
	pthread_create(&threads[1], 0, ends, 0);
	pthread_join(threads[1], 0);
	pthread_create(&threads[2], 0, result_of, 0);
}

int main(void)
{
	pthread_t threads[3];
	sem_init(&ready, 0, 0);
	make(threads);
	usleep(50000); // the third thread ends
	void *volatile on_stack = keep_stack();
	wipe();
	ask_checkers();
	asm volatile("xorl %%eax, %%eax; xorl %%ecx, %%ecx; xorl %%edx, %%edx; xorl %%esi, %%esi; xorl %%edi, %%edi;"
		"xorl %%r8d, %%r8d; xorl %%r9d, %%r9d; xorl %%r10d, %%r10d; xorl %%r11d, %%r11d"
		::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"); // where old addresses may stand
	at_rest();
	ending = 1;
	pthread_join(threads[0], 0);
	pthread_join(threads[2], 0);
	on_stack = 0;
	at_end();
	return 0;
}
