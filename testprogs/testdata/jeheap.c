//build: -O1 -pthread -Wl,--no-as-needed -ljemalloc
// A heap of jemalloc whose blocks are held in all ways; the program then waits on standard input. One
// thread holds a block in thread-local storage, and has freed others, which are in its cache.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
	struct node *next;
	char *data;
};

struct node *list;
char *inside, *table, *cached;
__thread char *mine;
static pthread_barrier_t barrier;

static char *filled(size_t n)
{
	return memset(malloc(n), 'x', n);
}

static __attribute__((noinline)) void make(void)
{
	for (int i = 0; i < 4; i++) {
		struct node *n = malloc(sizeof *n);
		n->next = list;
		n->data = filled(100 + i);
		list = n;
	}
	for (int i = 0; i < 3; i++)
		filled(1000);
	inside = filled(5000) + 2000;
	table = filled(3 << 20);
}

static __attribute__((noinline)) void wipe(void)
{
	volatile char old[4096];
	memset((void *)old, 0, sizeof old);
}

static void *thread(void *arg)
{
	char *freed[10];
	mine = filled(300);
	for (int i = 0; i < 10; i++)
		freed[i] = filled(700);
	cached = freed[0] + 16;
	for (int i = 0; i < 10; i++)
		free(freed[i]);
	memset(freed, 0, sizeof freed);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return arg;
}

int main(void)
{
	pthread_t t;
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&t, NULL, thread, NULL) != 0)
		return 1;
	pthread_barrier_wait(&barrier);
	make();
	wipe();
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	char c;
	int n = read(0, &c, 1);
	pthread_barrier_wait(&barrier);
	pthread_join(t, NULL);
	printf("%d\n", n);
	return 0;
}
