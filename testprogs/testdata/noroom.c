/*
 * Allocators of the program's own whose entries have no room for a jump of five bytes:
 * tiny_get and tiny_put are two bytes long with other code behind them, loop_get has a
 * branch to its second instruction, marked_get one behind its endbr64, again_get one to its
 * entry. Built with -DROOM they do the same and have room. Arguments: rounds, threads, and
 * how many calls of malloc and free to time; one more has the program begin when it is
 * traced.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef ROOM
#define FAR ".byte 0x66,0x0f,0x1f,0x84,0,0,0,0,0\n" /* a nop of nine bytes */
#else
#define FAR
#endif

__attribute__((noinline)) void *pool_get(size_t n) { return malloc(n); }
__attribute__((noinline)) void pool_put(void *p) { free(p); }

#define FUNCTION(name, code) \
	".globl " name "\n.type " name ",@function\n" name ":\n" FAR code ".size " name ",.-" name "\n"

__asm__(".text\n.p2align 4\n"
	FUNCTION("tiny_get", "	jmp 1f\n")
	FUNCTION("tiny_put", "	jmp 2f\n")
	"1:	jmp pool_get\n2:	jmp pool_put\n"
	FUNCTION("loop_get", "	push %rbx\n"
		"3:	add $1,%rdi\n	test $15,%dil\n	jnz 3b\n"
		"	call pool_get\n	pop %rbx\n	ret\n")
	FUNCTION("again_get", "	dec %esi\n	jns again_get\n	jmp pool_get\n")
	FUNCTION("marked_get", "	.byte 0xf3,0x0f,0x1e,0xfa\n"
		"4:	sub $1,%esi\n	jnz 4b\n	jmp pool_get\n")
	".p2align 4\n");

void *tiny_get(size_t n);
void tiny_put(void *p);
void *loop_get(size_t n);
void *again_get(size_t n, int times);
void *marked_get(size_t n, int times);

static int rounds;

static void *work(void *arg)
{
	long wrong = 0;
	for (int i = 0; i < rounds; i++) {
		char *a = tiny_get(100 + i), *b = loop_get(33), *c = again_get(200, 2), *d = marked_get(5, 3);
		memset(a, 1, 100 + i);
		memset(b, 2, 48);
		memset(c, 3, 200);
		wrong += a[99 + i] != 1 || b[47] != 2 || c[199] != 3;
		tiny_put(a);
		tiny_put(b);
		pool_put(c);
		pool_put(d);
	}
	return (void *)wrong;
}

static int traced(void)
{
	char line[256];
	int tracer = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "TracerPid: %d", &tracer) == 1)
			break;
	if (f)
		fclose(f);
	return tracer != 0;
}

int main(int argc, char **argv)
{
	rounds = argc > 1 ? atoi(argv[1]) : 20;
	int threads = argc > 2 ? atoi(argv[2]) : 0;
	long calls = argc > 3 ? atol(argv[3]) : 0, wrong = 0;
	pthread_t id[64];
	if (argc > 4) {
		printf("ready %d\n", getpid());
		fflush(stdout);
		while (!traced())
			usleep(1000);
	}
	for (int i = 0; i < threads; i++)
		if (pthread_create(&id[i], 0, work, 0))
			abort();
	wrong += (long)work(0);
	for (int i = 0; i < threads; i++) {
		void *n;
		pthread_join(id[i], &n);
		wrong += (long)n;
	}
	pid_t child = fork();
	if (child == 0)
		_exit(work(0) != 0);
	int status;
	wrong += waitpid(child, &status, 0) != child || status != 0;
	struct timespec a, b;
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (long i = 0; i < calls; i++) {
		void *volatile p = malloc(64);
		free(p);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	if (calls)
		printf("%.1f ns a pair\n", ((b.tv_sec - a.tv_sec) * 1e9 + (b.tv_nsec - a.tv_nsec)) / calls);
	printf("wrong %ld\n", wrong);
	return wrong != 0;
}
