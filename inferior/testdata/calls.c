// THREADS threads map and unmap a page ROUNDS times each by bare system calls,
// while a timer interrupts them, and check that they got one.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static long rounds;
static atomic_int wrong;
static volatile sig_atomic_t ticks;

__attribute__((noinline)) static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return r;
}

static void *work(void *arg)
{
	(void)arg;
	for (long i = 0; i < rounds; i++) {
		long a = call(SYS_mmap, 0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (a % 4096 != 0 || *(char *)a != 0) {
			wrong++;
			continue;
		}
		*(char *)a = 1;
		wrong += call(SYS_getppid, 0, 0, 0, 0, 0, 0) != getppid();
		wrong += call(SYS_munmap, a, 4096, 0, 0, 0, 0) != 0;
	}
	wrong += call(SYS_mmap, 0, 0, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != -22;
	return NULL;
}

static void tick(int n) { (void)n, ticks++; }

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	rounds = argc > 2 ? atol(argv[2]) : 10;
	struct sigaction s = {.sa_handler = tick, .sa_flags = SA_RESTART};
	sigaction(SIGALRM, &s, NULL);
	struct itimerval v = {{0, 2000}, {0, 2000}};
	setitimer(ITIMER_REAL, &v, NULL);
	pthread_t t[64];
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return wrong != 0;
}
