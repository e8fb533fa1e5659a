// Has memory that a core file is to leave out, a reservation that nobody touches but for one
// page, a changed page of its own code's file, and threads that allocate all the time.
//build: -pthread
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char *secret, *wide, *shared;
static volatile int stop;
static pthread_barrier_t ready;

static void *churn(void *arg)
{
	pthread_barrier_wait(&ready);
	while (!stop)
		free(malloc(100));
	return arg;
}

__attribute__((noinline)) static void here(int n)
{
	usleep(1000 * n);
}

static char *map(size_t size, int flags)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

int main(void)
{
	pthread_t threads[3];
	secret = map(4096, MAP_PRIVATE);
	strcpy(secret, "secret");
	madvise(secret, 4096, MADV_DONTDUMP);
	wide = map(1L << 36, MAP_PRIVATE);
	strcpy(wide + (1L << 30), "deep");
	shared = map(4096, MAP_SHARED);
	strcpy(shared, "shared");
	pthread_barrier_init(&ready, NULL, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, churn, NULL);
	pthread_barrier_wait(&ready);
	usleep(20000);
	here(1);
	stop = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
