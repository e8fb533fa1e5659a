//build: -O1
// THREADS threads make CALLS calls each of malloc, calloc, realloc and free on
// blocks that they hand to one another, and check what is in them.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MALLOC, CALLOC, REALLOC, FREE, FUNCTIONS };

struct block {
	uint32_t size;
	unsigned char tag, bytes[];
};

static atomic_long counts[FUNCTIONS], wrong;
static _Atomic(struct block *) market[64];
static long calls;

static void fill(struct block *b, size_t size, unsigned tag)
{
	b->size = size;
	b->tag = tag;
	memset(b->bytes, tag, size - sizeof *b);
}

static void check(const struct block *b, size_t size)
{
	for (size_t i = 0; i < size - sizeof *b; i++)
		if (b->bytes[i] != b->tag) {
			wrong++;
			return;
		}
}

__attribute__((noinline)) static struct block *step(struct block *b, unsigned random, long *n)
{
	size_t size = 16 + (random >> 8) % (random % 64 == 0 ? 20000 : 400);
	if (b == NULL && random % 4 == 0) {
		b = calloc(1, size);
		n[CALLOC]++;
		for (size_t i = sizeof *b; i < size; i++)
			wrong += ((unsigned char *)b)[i] != 0;
		fill(b, size, random);
	} else if (b == NULL) {
		b = malloc(size);
		n[MALLOC]++;
		fill(b, size, random);
	} else if (random % 4 == 0) {
		size_t old = b->size;
		b = realloc(b, size);
		n[REALLOC]++;
		check(b, old < size ? old : size);
		fill(b, size, random);
	} else {
		check(b, b->size);
		free(b);
		n[FREE]++;
		b = NULL;
	}
	return b;
}

static void *work(void *arg)
{
	struct block *own[16] = {0};
	long n[FUNCTIONS] = {0};
	unsigned random = 12345 + 7919 * (unsigned)(long)arg;
	for (long i = 0; i < calls; i++) {
		random = random * 1103515245 + 12345;
		unsigned r = random >> 4;
		struct block **b = &own[r / 1024 % 16];
		if (r % 8 == 0)
			*b = atomic_exchange(&market[r / 16 % 64], *b);
		*b = step(*b, r, n);
	}
	for (int i = 0; i < 16; i++)
		if (own[i]) {
			check(own[i], own[i]->size);
			free(own[i]);
			n[FREE]++;
		}
	for (int f = 0; f < FUNCTIONS; f++)
		counts[f] += n[f];
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4;
	calls = argc > 2 ? atol(argv[2]) : 1000;
	pthread_t t[256];
	for (long i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, work, (void *)i) != 0)
			return 2;
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 64; i++)
		if (market[i]) {
			check(market[i], market[i]->size);
			free(market[i]);
			counts[FREE]++;
		}
	printf("wrong %ld\n", (long)wrong);
	printf("calls malloc %ld calloc %ld realloc %ld free %ld\n", (long)counts[MALLOC], (long)counts[CALLOC],
	       (long)counts[REALLOC], (long)counts[FREE]);
	return wrong != 0;
}
