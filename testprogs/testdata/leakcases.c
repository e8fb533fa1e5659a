// One small program for each way to lose or keep blocks until the end, chosen by -DCASE=name: what leak checkers say of
// each at the exit is in leakcases_test.go.
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#define USE(p) __asm__ volatile("" : : "r"(p) : "memory")

struct node {
	struct node *next, *other;
	char pad[48];
};

void *held;
static char *middle;

static NOINLINE struct node *node(struct node *next)
{
	struct node *n = calloc(1, sizeof *n);
	n->next = next;
	return n;
}

static NOINLINE struct node *list(int n)
{
	struct node *head = NULL;
	while (n-- > 0)
		head = node(head);
	return head;
}

static NOINLINE struct node *tree(int depth)
{
	struct node *n = node(NULL);
	if (depth > 0) {
		n->next = tree(depth - 1);
		n->other = tree(depth - 1);
	}
	return n;
}

// A pointer in a local variable of main, which has returned.
static inline int in_main(void)
{
	char *p = malloc(100);
	USE(p);
	p[0] = 1;
	return 0;
}

// A list whose head only a function had that has returned.
static NOINLINE void drop_list(void)
{
	struct node *head = list(10);
	USE(head);
}
static inline int callee_list(void)
{
	drop_list();
	return 0;
}

// A function of another module is called when the list is lost.
static inline int calls_library(void)
{
	drop_list();
	free(NULL);
	return 0;
}

// A block is made when the list is lost.
static inline int allocates(void)
{
	drop_list();
	USE(malloc(8));
	return 0;
}

// The program writes, so that stdio has a buffer, and exits in main.
static inline int prints_and_exits(void)
{
	USE(malloc(30));
	printf("done\n");
	exit(0);
}

// Main calls exit while a variable of its own, in memory, has the block.
static inline int exits_with_local(void)
{
	void *volatile p = malloc(200);
	USE(p);
	exit(0);
}

static NOINLINE void exits_deep_down(int depth)
{
	void *volatile p = malloc(10);
	USE(p);
	if (depth == 0)
		exit(3);
	exits_deep_down(depth - 1);
	USE(&depth); // no tail call
}
static inline int exits_deep(void)
{
	exits_deep_down(4);
	return 0;
}

static inline int exits_at_once(void)
{
	USE(malloc(77));
	_exit(0);
}

static NOINLINE void last_words(void) { USE(0); }
static inline int exits_quickly(void)
{
	at_quick_exit(last_words);
	USE(malloc(78));
	quick_exit(0);
}

static inline int global(void)
{
	held = list(3);
	return 0;
}

static inline int circle(void)
{
	struct node *a = node(NULL), *b = node(a), *c = node(b);
	a->next = c;
	USE(a);
	return 0;
}

static inline int tree_lost(void)
{
	USE(tree(3));
	return 0;
}

// Two trees, both lost, with a link from the first into the second.
static inline int trees_linked(void)
{
	struct node *a = tree(1), *b = tree(2);
	a->next->next = b->next;
	USE(a);
	USE(b);
	return 0;
}

static inline int interior(void)
{
	middle = (char *)malloc(500) + 123;
	return 0;
}

// A pointer into the middle that main had.
static inline int interior_in_main(void)
{
	char *p = (char *)malloc(500) + 250;
	USE(p);
	return 0;
}

static inline int overwritten(void)
{
	held = malloc(40);
	held = malloc(50);
	free(held);
	held = malloc(60);
	return 0;
}

static inline int regrown(void)
{
	char *p = malloc(10);
	for (int i = 1; i < 12; i++)
		p = realloc(p, 10 << i);
	USE(p);
	return 0;
}

static NOINLINE void *lose_in_thread(void *arg)
{
	USE(malloc(333));
	return arg;
}
static inline int thread_joined(void)
{
	pthread_t t;
	if (pthread_create(&t, NULL, lose_in_thread, NULL) || pthread_join(t, NULL))
		return 1;
	return 0;
}

static sem_t ready;
static NOINLINE void *hold_in_thread(void *arg)
{
	void *volatile p = malloc(444);
	USE(p);
	sem_post(&ready);
	for (;;)
		pause();
	return arg;
}
static inline int thread_holds(void)
{
	pthread_t t;
	sem_init(&ready, 0, 0);
	if (pthread_create(&t, NULL, hold_in_thread, NULL))
		return 1;
	sem_wait(&ready);
	return 0;
}

static inline int thread_key(void)
{
	pthread_key_t key;
	pthread_key_create(&key, free);
	pthread_setspecific(key, malloc(90));
	return 0;
}

static inline int aligned(void)
{
	void *p = NULL;
	if (posix_memalign(&p, 4096, 1000))
		return 1;
	USE(p);
	return 0;
}

static inline int empty(void)
{
	USE(malloc(0));
	return 0;
}

static NOINLINE void copy_name(const char *name, char **out) { *out = strdup(name); }
static NOINLINE void copy_names(void)
{
	char *names[3];
	for (int i = 0; i < 3; i++)
		copy_name("somebody", &names[i]);
	USE(names);
}
static inline int copies(void)
{
	copy_names();
	return 0;
}

// What a freed block pointed to.
static inline int behind_freed(void)
{
	struct node *a = node(NULL);
	a->other = node(NULL);
	USE(a);
	free(a);
	return 0;
}

static NOINLINE int dig(int depth)
{
	void *volatile p = malloc(16 + depth);
	USE(p);
	return depth == 0 ? 0 : dig(depth - 1) + 1;
}
static inline int recursion(void) { return dig(5) - 5; }

struct packed {
	char c;
	void *p;
} __attribute__((packed));
static struct packed odd;
static inline int unaligned(void)
{
	odd.p = malloc(70);
	return 0;
}

static NOINLINE void fill(int n)
{
	void *all[n];
	for (int i = 0; i < n; i++)
		all[i] = malloc(20 + i);
	USE(all);
}
static inline int array_in_callee(void)
{
	fill(7);
	return 0;
}

static jmp_buf back;
static NOINLINE void jump(void)
{
	void *volatile p = malloc(65);
	USE(p);
	longjmp(back, 1);
}
static inline int jumped_over(void)
{
	if (setjmp(back) == 0)
		jump();
	return 0;
}

static NOINLINE void release(void) { free(held); }
static inline int freed_at_exit(void)
{
	atexit(release);
	held = malloc(55);
	return 0;
}

int main(void) { return CASE(); }
