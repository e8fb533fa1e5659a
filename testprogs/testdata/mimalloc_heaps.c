//build: -Wl,--no-as-needed -lmimalloc
// First-class heaps of mimalloc: blocks end with the heap that they come from, by mi_heap_destroy, and live on
// after mi_heap_delete. The program keeps a book of its blocks; with an argument it prints it at each step, which
// begins with a block of 424242 bytes.
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct mi_heap_s mi_heap_t;
mi_heap_t *mi_heap_new(void);
mi_heap_t *mi_heap_set_default(mi_heap_t *);
void mi_heap_delete(mi_heap_t *);
void mi_heap_destroy(mi_heap_t *);
void *mi_heap_malloc(mi_heap_t *, size_t);
void *mi_heap_zalloc(mi_heap_t *, size_t);
void *mi_heap_malloc_small(mi_heap_t *, size_t);
void *mi_heap_calloc(mi_heap_t *, size_t, size_t);
void *mi_heap_mallocn(mi_heap_t *, size_t, size_t);
void *mi_heap_realloc(mi_heap_t *, void *, size_t);
void *mi_heap_reallocn(mi_heap_t *, void *, size_t, size_t);
void *mi_heap_reallocf(mi_heap_t *, void *, size_t);
void *mi_heap_recalloc(mi_heap_t *, void *, size_t, size_t);
char *mi_heap_strdup(mi_heap_t *, const char *);
void *mi_heap_malloc_aligned(mi_heap_t *, size_t, size_t);
void *mi_heap_calloc_aligned(mi_heap_t *, size_t, size_t, size_t);
void *mi_heap_realloc_aligned(mi_heap_t *, void *, size_t, size_t);
void *mi_heap_alloc_new(mi_heap_t *, size_t);
void *mi_heap_alloc_new_n(mi_heap_t *, size_t, size_t);

// The book: the blocks that live, and the heaps themselves, which mimalloc has in blocks of a heap of its own.
enum { MOST = 1000 };
static struct {
	char *at;
	size_t size;
	mi_heap_t *heap;
} book[MOST];
static void *volatile step;
static int prints;
static sem_t turn;

static void check(void)
{
	step = malloc(424242);
	free(step);
	for (int i = 0; prints && i < MOST; i++) {
		char line[100];
		if (book[i].at && write(1, line, snprintf(line, sizeof line, "%p %zu\n", book[i].at, book[i].size)) < 0)
			_exit(1);
	}
	if (prints && write(1, "step\n", 5) < 0)
		_exit(1);
}

static void *made(mi_heap_t *heap, void *at, size_t size)
{
	for (int i = 0;; i++)
		if (!book[i].at) {
			book[i].at = at, book[i].size = size, book[i].heap = heap;
			return size ? memset(at, 1, size) : at;
		}
}

static mi_heap_t *ended(void *at)
{
	for (int i = 0; at && i < MOST; i++)
		if (book[i].at == at) {
			book[i].at = NULL;
			return book[i].heap;
		}
	return NULL;
}

// resized is a block that was resized: it stays in its heap if it did not move.
static void *resized(mi_heap_t *heap, void *old, void *at, size_t size)
{
	mi_heap_t *was = ended(old);
	return made(old == at ? was : heap, at, size);
}

static mi_heap_t *new_heap(void) { return made(NULL, mi_heap_new(), 0); }

static void delete(mi_heap_t *heap)
{
	ended(heap);
	mi_heap_delete(heap);
	check();
}

static void destroy(mi_heap_t *heap)
{
	ended(heap);
	for (int i = 0; i < MOST; i++)
		if (book[i].at && book[i].heap == heap)
			ended(book[i].at);
	mi_heap_destroy(heap);
	check();
}

// fill allocates from a heap by each form that there is.
static void fill(mi_heap_t *h)
{
	made(h, mi_heap_malloc(h, 1000), 1000);
	made(h, mi_heap_zalloc(h, 1001), 1001);
	made(h, mi_heap_malloc_small(h, 102), 102);
	made(h, mi_heap_calloc(h, 3, 35), 105);
	made(h, mi_heap_mallocn(h, 4, 25), 100);
	made(h, mi_heap_realloc(h, NULL, 77), 77);
	made(h, mi_heap_reallocn(h, NULL, 2, 39), 78);
	made(h, mi_heap_recalloc(h, NULL, 7, 11), 77);
	made(h, mi_heap_malloc_aligned(h, 200, 64), 200);
	made(h, mi_heap_calloc_aligned(h, 5, 50, 128), 250);
	made(h, mi_heap_strdup(h, "first-class"), 12);
	made(h, mi_heap_alloc_new(h, 300), 300);
	made(h, mi_heap_alloc_new_n(h, 3, 100), 300);
	check();
}

static void resize(mi_heap_t *a, mi_heap_t *b)
{
	char *p = made(a, mi_heap_malloc(a, 2000), 2000);
	p = resized(b, p, mi_heap_realloc(b, p, 2001), 2001); // has room
	p = resized(b, p, mi_heap_reallocn(b, p, 9, 1000), 9000);
	p = resized(a, p, mi_heap_recalloc(a, p, 20, 1000), 20000);
	p = resized(b, p, mi_heap_reallocf(b, p, 50000), 50000);
	p = resized(a, p, mi_heap_realloc_aligned(a, p, 100000, 64), 100000);
	check();
	char *q = made(a, mi_heap_malloc(a, 10), 10);
	q = resized(NULL, q, realloc(q, 3000), 3000); // into the heap of no name
	check();
}

static void *thread(void *unused)
{
	(void)unused;
	sem_wait(&turn);
	mi_heap_t *mine = new_heap(), *left = new_heap();
	mi_heap_t *before = mi_heap_set_default(mine);
	made(mine, malloc(500), 500);
	made(mine, calloc(5, 100), 500);
	made(mine, strdup("by the default"), 15);
	char *p = made(left, mi_heap_malloc(left, 600), 600);
	p = resized(mine, p, realloc(p, 7000), 7000);
	mi_heap_set_default(before);
	made(NULL, malloc(501), 501);
	destroy(mine);
	made(NULL, malloc(502), 502);
	made(left, mi_heap_malloc(left, 700), 700);
	ended(left); // the thread's end deletes it: the block lives on
	return NULL;
}

int main(int argc, char **argv)
{
	(void)argv;
	prints = argc > 1;
	pthread_t t;
	pthread_create(&t, NULL, thread, NULL);
	void *first = made(NULL, malloc(100), 100);
	check();
	for (int round = 0; round < 3; round++) {
		mi_heap_t *a = new_heap(), *b = new_heap(), *c = new_heap();
		fill(a);
		fill(b);
		fill(c);
		resize(a, b);
		resize(b, a);
		char *given = mi_heap_malloc(a, 900); // and given back before
		free(given);
		destroy(a);
		made(NULL, malloc(1000), 1000); // where a's blocks were
		delete(c);
		destroy(b);
	}
	sem_post(&turn);
	pthread_join(t, NULL);
	free(first);
	ended(first);
	check();
	return 0;
}
