// Arenas, tcaches, bins and mapped blocks of glibc's malloc at four moments: in order, with much
// memory that is free, with a size word that was overwritten, and with one that looks right.
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_barrier_t meet;
static char *theirs[4], *mapped, *page, *kept[2000], *first, *second, *third;

static void *work(void *unused)
{
	for (int i = 0; i < 4; i++)
		theirs[i] = malloc(100 + 100 * i);
	free(theirs[0]);
	pthread_barrier_wait(&meet);
	pthread_barrier_wait(&meet); // until the end
	return unused;
}

__attribute__((noinline)) static void settled(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void swollen(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void overrun(void) { __asm__ volatile(""); }
__attribute__((noinline)) static void hidden(void) { __asm__ volatile(""); }

int main(void)
{
	pthread_t thread;
	pthread_barrier_init(&meet, 0, 2);
	pthread_create(&thread, 0, work, 0);
	pthread_barrier_wait(&meet);

	mapped = malloc(300000);
	page = memalign(4096, 200000);
	char *gone = malloc(5000), *cached = malloc(40);
	first = malloc(24);
	second = malloc(24);
	third = malloc(72);
	free(gone);
	free(cached);
	settled();

	for (int i = 0; i < 2000; i++)
		memset(kept[i] = malloc(4000), 'k', 4000);
	for (int i = 0; i < 1999; i++)
		free(kept[i]);
	swollen();

	memset(first, 'f', 28); // four bytes too many
	overrun();

	first[24] = 0x21 + 0x50; // the size of two chunks: the third is not seen any more
	memset(first + 25, 0, 3);
	hidden();

	first[24] = 0x21;
	pthread_barrier_wait(&meet);
	pthread_join(thread, 0);
	return 0;
}
