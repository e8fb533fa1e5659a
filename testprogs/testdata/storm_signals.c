//build: -O1 -Wl,-z,now
// Timer signals at HZ interrupt threads that allocate, until the handlers of
// each have allocated TICKS times. Arguments: HZ, TICKS, threads, "alt" for
// handlers on stacks of their own, 2 KiB larger than the kernel needs. The time to
// the next signal begins anew with the end of a handler: however slow calls are made,
// the threads get on.
//
// There is no lazy binding, because to look up a symbol takes more stack.
//
// malloc of a C library must not be called by a handler that interrupted it:
// such handlers only count. With -DOWN the program brings a malloc that may be
// interrupted anywhere, and handlers call it whatever they interrupted.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { HANDLER_SIZE = 40 }; // the threads' own blocks are larger

static atomic_long mallocs, frees, handler_mallocs, handler_frees, skipped, wrong;
static int hz, ticks, alt;
static __thread volatile sig_atomic_t busy, ticked;
static __thread timer_t timer;

#ifdef OWN
// Blocks are never used again: a header of 16 bytes tells live ones from others. How
// many there are depends on how long a busy machine takes for TICKS.
static char arena[1 << 30] __attribute__((aligned(16)));
static atomic_size_t used;

void *malloc(size_t n)
{
	size_t at = atomic_fetch_add(&used, ((n + 15) & ~(size_t)15) + 16);
	if (at + n + 16 > sizeof arena) {
		static const char full[] = "the arena is full: fewer TICKS, or another time\n";
		(void)!write(2, full, sizeof full - 1);
		_exit(3);
	}
	*(uint64_t *)(arena + at) = 0x6c697665;
	*(uint64_t *)(arena + at + 8) = n;
	return arena + at + 16;
}

void free(void *p)
{
	if (p && atomic_exchange((_Atomic uint64_t *)((char *)p - 16), 0) != 0x6c697665)
		abort();
}

void *calloc(size_t n, size_t size) { return malloc(n * size); } // arena is zero

void *realloc(void *p, size_t n)
{
	char *q = malloc(n);
	size_t old = p ? *(uint64_t *)((char *)p - 8) : 0;
	if (q && p)
		memcpy(q, p, old < n ? old : n);
	free(p);
	return q;
}

#define MAY_ALLOCATE 1
#else
#define MAY_ALLOCATE (!busy)
#endif

static void next_tick(void)
{
	struct itimerspec once = {{0, 0}, {0, 1000000000L / hz}};
	timer_settime(timer, 0, &once, NULL);
}

static void on_tick(int sig)
{
	(void)sig;
	if (!MAY_ALLOCATE) {
		skipped++;
		next_tick();
		return;
	}
	unsigned char *p = malloc(HANDLER_SIZE);
	handler_mallocs++;
	memset(p, 0x5a, HANDLER_SIZE);
	for (int i = 0; i < HANDLER_SIZE; i++)
		wrong += p[i] != 0x5a;
	free(p);
	handler_frees++;
	ticked++;
	next_tick();
}

__attribute__((noinline)) static void one_block(unsigned n)
{
	size_t size = 64 + n % 64;
	busy = 1;
	unsigned char *p = malloc(size);
	busy = 0;
	mallocs++;
	memset(p, n, size);
	for (volatile int i = 0; i < 100; i++)
		; // a time in which handlers may allocate
	for (size_t i = 0; i < size; i++)
		wrong += p[i] != (unsigned char)n;
	busy = 1;
	free(p);
	busy = 0;
	frees++;
}

// small_stack gives the thread's handlers the least stack there may be, with a
// page below that must not be touched.
static void small_stack(void)
{
	size_t page = 4096, size = getauxval(AT_MINSIGSTKSZ);
	size = (size ? size : MINSIGSTKSZ) + 2048;
	char *m = mmap(NULL, page + 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(m, page, PROT_NONE);
	stack_t st = {.ss_sp = m + page, .ss_size = size};
	if (sigaltstack(&st, NULL) != 0) {
		perror("sigaltstack");
		exit(1);
	}
}

static void *work(void *arg)
{
	if (alt)
		small_stack();
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	ev.sigev_notify_thread_id = (int)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) != 0) {
		perror("timer_create");
		exit(1);
	}
	next_tick();
	for (unsigned n = (unsigned)(long)arg; ticked < ticks; n++)
		one_block(n);
	timer_delete(timer);
	return NULL;
}

int main(int argc, char **argv)
{
	hz = argc > 1 ? atoi(argv[1]) : 1000;
	ticks = argc > 2 ? atoi(argv[2]) : 100;
	int threads = argc > 3 ? atoi(argv[3]) : 1;
	alt = argc > 4;
	struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_RESTART | (alt ? SA_ONSTACK : 0)};
	sigaction(SIGUSR1, &sa, NULL);
	pthread_t t[64];
	for (long i = 1; i < threads; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	work(NULL);
	for (int i = 1; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("wrong %ld skipped %ld handler %ld\n", (long)wrong, (long)skipped, (long)handler_mallocs);
	printf("calls malloc %ld free %ld\n", mallocs + handler_mallocs, frees + handler_frees);
	return wrong != 0;
}
