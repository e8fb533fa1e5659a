//build: -O1 -fno-builtin
// A signal leaves malloc by siglongjmp, ROUNDS times: the program's own malloc
// holds no lock, so that a block is lost and nothing else. By itself in every
// third call ("raise"), or wherever a timer hits it ("timer").
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static sigjmp_buf out;
static volatile sig_atomic_t jumping, raising, inside;
static char arena[1 << 28] __attribute__((aligned(16)));
static atomic_size_t used;
static volatile long begun, frees, jumps, wrong;

void *malloc(size_t n)
{
	inside = 1;
	size_t at = atomic_fetch_add(&used, ((n + 15) & ~(size_t)15) + 16);
	if (at + n + 16 > sizeof arena)
		abort();
	*(size_t *)(arena + at) = n;
	if (raising)
		raise(SIGUSR1);
	for (volatile int i = 0; i < 200; i++)
		; // a time to be interrupted in
	inside = 0;
	return arena + at + 16;
}

__attribute__((noinline)) void free(void *p)
{
	if (p)
		memset(p, 0xdd, *(size_t *)((char *)p - 16));
}

void *calloc(size_t n, size_t size) { return malloc(n * size); }

void *realloc(void *p, size_t n)
{
	char *q = malloc(n);
	if (p)
		memcpy(q, p, *(size_t *)((char *)p - 16) < n ? *(size_t *)((char *)p - 16) : n);
	return q;
}

static void on_signal(int sig)
{
	(void)sig;
	if (jumping && inside) {
		jumping = 0;
		siglongjmp(out, 1);
	}
}

__attribute__((noinline)) static void one(int i)
{
	size_t n = 32 + i % 100;
	begun++;
	unsigned char *p = malloc(n);
	memset(p, i, n);
	wrong += p[n - 1] != (unsigned char)i;
	free(p);
	frees++;
}

int main(int argc, char **argv)
{
	int timer = argc > 1 && strcmp(argv[1], "timer") == 0;
	int rounds = argc > 2 ? atoi(argv[2]) : 100;
	struct sigaction sa = {.sa_handler = on_signal};
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	struct itimerval each = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
	if (timer)
		setitimer(ITIMER_REAL, &each, NULL);
	for (volatile int i = 0; timer ? jumps < rounds : i < rounds; i++) {
		if (sigsetjmp(out, 1) == 0) {
			raising = !timer && i % 3 == 0;
			jumping = 1;
			one(i);
			jumping = 0;
		} else {
			jumps++;
			inside = raising = 0;
		}
	}
	setitimer(ITIMER_REAL, &never, NULL);
	jumping = raising = 0;
	free(malloc(16)); // by now it is known that the calls before did not return
	begun++;
	frees++;
	printf("wrong %ld abandoned %ld\n", wrong, jumps);
	printf("calls malloc %ld free %ld\n", begun, frees);
	return wrong != 0;
}
