// atfree: a thread frees a block while the main thread waits for it, busily, and then allocates.
#include <pthread.h>
#include <stdlib.h>

static volatile int freed;

__attribute__((noinline)) void meanwhile(void) { __asm__ volatile(""); }

static void *frees(void *block)
{
	free(block);
	freed = 1;
	return NULL;
}

int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, frees, malloc(2000));
	do
		meanwhile();
	while (!freed);
	pthread_join(t, NULL);
	void *volatile last = malloc(3000);
	free(last);
}
