//build: -O1 -fno-builtin-realloc -Wno-use-after-free -Wno-alloc-size-larger-than
// Failures of realloc leave the old block as it was; and THREADS threads grow
// blocks ROUNDS times while others are handed the old places of the blocks.
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_long mallocs, reallocs, reallocarrays, frees, wrong;
static int rounds;
static volatile size_t huge[] = {SIZE_MAX, SIZE_MAX - 64, SIZE_MAX / 2, (size_t)PTRDIFF_MAX + 1, (size_t)1 << 47};

static int holds(const unsigned char *p, size_t n, unsigned tag)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != (unsigned char)tag)
			return 0;
	return 1;
}

__attribute__((noinline)) static void failures(void)
{
	for (int i = 0; i < 40; i++) {
		size_t size = 24 + 100 * i;
		unsigned char *p = malloc(size);
		mallocs++;
		memset(p, i, size);
		for (unsigned k = 0; k < sizeof huge / sizeof *huge; k++) {
			errno = 0;
			wrong += realloc(p, huge[k]) != NULL || errno != ENOMEM;
			reallocs++;
			wrong += !holds(p, size, i);
		}
		wrong += reallocarray(p, SIZE_MAX / 8, 16 + huge[0] % 2) != NULL;
		reallocarrays++;
		wrong += !holds(p, size, i);
		p = realloc(p, 2 * size);
		reallocs++;
		wrong += !holds(p, size, i);
		free(p);
		frees++;
	}
}

static void *race(void *arg)
{
	unsigned tag = (unsigned)(long)arg;
	for (int i = 0; i < rounds; i++) {
		size_t size = 1040; // too large for the thread's own cache
		unsigned char *p = malloc(size), *q = malloc(size);
		memset(p, tag, size);
		memset(q, tag + 1, size);
		p = realloc(p, 4 * size);
		wrong += !holds(p, size, tag);
		q = realloc(q, size / 2);
		wrong += !holds(q, size / 2, tag + 1);
		q = realloc(q, 3 * size);
		wrong += !holds(q, size / 2, tag + 1);
		mallocs += 2;
		reallocs += 3;
		free(p);
		free(q);
		frees += 2;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4;
	rounds = argc > 2 ? atoi(argv[2]) : 100;
	failures();
	pthread_t t[64];
	for (long i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, race, (void *)(i * 10));
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("wrong %ld\n", (long)wrong);
	printf("calls malloc %ld realloc %ld reallocarray %ld free %ld\n", (long)mallocs, (long)reallocs, (long)reallocarrays, (long)frees);
	return wrong != 0;
}
