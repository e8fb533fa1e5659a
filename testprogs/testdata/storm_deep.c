//build: -O1 -fno-builtin -fno-optimize-sibling-calls
// DEPTH calls deep, allocations on the way down and frees on the way up, in
// ROUNDS threads one after the other.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long mallocs, frees, wrong;

__attribute__((noinline)) static int down(int n)
{
	unsigned char *p = malloc(16 + n % 50);
	mallocs++;
	memset(p, n, 16 + n % 50);
	int below = n > 1 ? down(n - 1) : 0;
	wrong += p[15 + n % 50] != (unsigned char)n;
	free(p);
	frees++;
	return below + 1;
}

static void *work(void *arg)
{
	int depth = (int)(long)arg;
	wrong += down(depth) != depth;
	return NULL;
}

int main(int argc, char **argv)
{
	long depth = argc > 1 ? atol(argv[1]) : 3000;
	int rounds = argc > 2 ? atoi(argv[2]) : 1;
	work((void *)depth);
	for (int i = 0; i < rounds; i++) {
		pthread_t t;
		pthread_create(&t, NULL, work, (void *)depth);
		pthread_join(t, NULL);
	}
	printf("depth %ld wrong %ld\n", depth, wrong);
	printf("calls malloc %ld free %ld\n", mallocs, frees);
	return wrong != 0;
}
