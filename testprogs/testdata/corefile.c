// Dies of SIGSEGV reading address 16, two calls deep, while two threads of it wait, each
// with a thread-local number of its own.
//build: -pthread
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#ifndef THREADS
#define THREADS 2
#endif

struct node {
	int id;
	const char *name;
	struct node *next;
};

static struct node *head;
static __thread int own = 7;
static pthread_barrier_t ready;

static void *worker(void *arg)
{
	own = (int)(long)arg;
	pthread_barrier_wait(&ready);
	for (;;)
		pause();
	return NULL;
}

__attribute__((noinline)) static int walk(struct node *n, int depth)
{
	int seen = depth * 10;
	double scale = 1.5 * seen;
	if (n == NULL) {
		volatile int *nowhere = (int *)16;
		return *nowhere + (int)scale;
	}
	return walk(n->next, depth + 1) + seen;
}

static struct node *push(struct node *next, int id, const char *name)
{
	struct node *n = malloc(sizeof *n);
	n->id = id;
	n->name = name;
	n->next = next;
	return n;
}

int main(void)
{
	pthread_t threads[THREADS];
	pthread_barrier_init(&ready, NULL, THREADS + 1);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, worker, (void *)(40 + i));
	pthread_barrier_wait(&ready);
	head = push(push(NULL, 1, "one"), 2, "two");
	return walk(head, 0);
}
