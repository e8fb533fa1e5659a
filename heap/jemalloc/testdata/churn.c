// Threads allocate and free at random, and keep a book of their live blocks in a shared file:
//
//	u64 threads; u64 stats.allocated
//	{u64 tid; u64 fs}[64]
//	{u64 addr; u64 usable}[SLOTS]
//
// churn BOOK THREADS [flush]. For each line on standard input all threads go a round, and wait outside of
// malloc; then a line is printed. A third of the threads ends after each round, and others take their
// place. With flush they flush their caches before they wait.
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef JE
#define JE(name) name
#endif
void *JE(malloc)(size_t);
void *JE(calloc)(size_t, size_t);
void *JE(realloc)(void *, size_t);
void *JE(aligned_alloc)(size_t, size_t);
void JE(free)(void *);
size_t JE(malloc_usable_size)(void *);
int JE(mallctl)(const char *, void *, size_t *, void *, size_t);

enum { MOST = 64, EACH = 1024 };

struct book {
	uint64_t threads, allocated;
	struct { uint64_t tid, fs; } thread[MOST];
	struct { uint64_t addr, usable; } slot[MOST * EACH];
} *book;

static int flush;
#ifdef PAD
static __thread char pad[PAD]; // between the thread pointer and the variables of libraries
#endif

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static size_t size_of(uint64_t *state)
{
	uint64_t r = next(state);
	switch (r % 64) {
	case 0: return next(state) % (1 << 21);
	case 1: case 2: return next(state) % (1 << 16);
	case 3: case 4: case 5: case 6: return next(state) % (1 << 13);
	default: return next(state) % 600;
	}
}

static void note(int slot, void *p)
{
	book->slot[slot].addr = (uint64_t)p;
	book->slot[slot].usable = p ? JE(malloc_usable_size)(p) : 0;
}

static void churn(int me, uint64_t *state, int steps)
{
	for (int i = 0; i < steps; i++) {
		int slot = me * EACH + next(state) % EACH;
		void *p = (void *)book->slot[slot].addr;
		switch (next(state) % 8) {
		case 0: case 1: case 2:
			JE(free)(p);
			note(slot, NULL);
			break;
		case 3:
			note(slot, JE(realloc)(p, size_of(state) + 1));
			break;
		case 4:
			JE(free)(p);
			note(slot, JE(aligned_alloc)((size_t)16 << next(state) % 10, size_of(state)));
			break;
		case 5:
			JE(free)(p);
			note(slot, JE(calloc)(1, size_of(state)));
			break;
		default:
			JE(free)(p);
			note(slot, JE(malloc)(size_of(state)));
		}
	}
}

struct job { int me, ends, lives; uint64_t state; pthread_t thread; sem_t go; };
static sem_t done;

static void enter(int me)
{
	unsigned long fs = 0;
	syscall(SYS_arch_prctl, ARCH_GET_FS, &fs);
#ifdef PAD
	*(volatile char *)pad = 1;
#endif
	book->thread[me].fs = fs;
	book->thread[me].tid = syscall(SYS_gettid);
}

static void round_of(int me, uint64_t *state)
{
	churn(me, state, 20000);
	if (flush)
		JE(mallctl)("thread.tcache.flush", NULL, NULL, NULL, 0);
}

static void *run(void *arg)
{
	struct job *job = arg;
	enter(job->me);
	for (;;) {
		sem_wait(&job->go);
		round_of(job->me, &job->state);
		int ends = job->ends;
		sem_post(&done);
		if (ends)
			return NULL;
	}
}

int main(int argc, char **argv)
{
	static struct job jobs[MOST];
	uint64_t state = 88172645463325252ull;
	char line[64];
	if (argc < 3)
		return 1;
	int fd = open(argv[1], O_RDWR | O_CREAT, 0600), threads = atoi(argv[2]);
	if (fd < 0 || threads >= MOST || ftruncate(fd, sizeof *book) != 0)
		return 1;
	book = mmap(NULL, sizeof *book, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	flush = argc > 3;
	book->threads = threads + 1;
	enter(threads);
	sem_init(&done, 0, 0);
	for (int round = 0; read(0, line, sizeof line) > 0; round++) {
		for (int i = 0; i < threads; i++) {
			struct job *job = &jobs[i];
			job->me = i;
			job->ends = (i + round) % 3 == 0;
			if (!job->lives) {
				job->lives = 1;
				job->state = next(&state);
				sem_init(&job->go, 0, 0);
				if (pthread_create(&job->thread, NULL, run, job) != 0)
					return 1;
			}
			sem_post(&job->go);
		}
		round_of(threads, &state);
		for (int i = 0; i < threads; i++)
			sem_wait(&done);
		for (int i = 0; i < threads; i++)
			if (jobs[i].ends) {
				pthread_join(jobs[i].thread, NULL);
				jobs[i].lives = 0;
				book->thread[i].tid = 0;
			}
		uint64_t epoch = 1;
		size_t n = sizeof book->allocated;
		JE(mallctl)("epoch", NULL, NULL, &epoch, sizeof epoch);
		JE(mallctl)("stats.allocated", &book->allocated, &n, NULL, 0);
		if (write(1, "\n", 1) != 1)
			return 1;
	}
	return 0;
}
