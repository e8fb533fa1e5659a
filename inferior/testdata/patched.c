/*
 * Functions whose first instructions are known byte by byte, for tests that
 * replace them, and room for code (island) and a counter (seen) that the test
 * fills. argv[1] says who calls them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* long target(long n) { return n + 1; }: endbr64; push %rbp; mov %rsp,%rbp ... */
__asm__(".text\n.p2align 4\n.globl target\n.type target,@function\ntarget:\n"
	"	.byte 0xf3,0x0f,0x1e,0xfa\n	push %rbp\n	mov %rsp,%rbp\n	lea 1(%rdi),%rax\n	pop %rbp\n	ret\n"
	".size target,.-target\n"
	/* pause(): xor %eax,%eax; mov $34,%al; syscall; ret: the call is in the first five bytes */
	".p2align 4\n.globl nap\n.type nap,@function\nnap:\n"
	"	xor %eax,%eax\n	mov $34,%al\n	syscall\n	ret\n"
	".size nap,.-nap\n"
	/* long peek(long *p) { return *p; }, or -1 when somebody leads it to peek_bad */
	".p2align 4\n.globl peek\n.type peek,@function\npeek:\n"
	"	mov (%rdi),%rax\n	ret\n"
	".globl peek_bad\npeek_bad:\n	mov $-1,%rax\n	ret\n"
	".size peek,.-peek\n"
	".p2align 12\n.globl island\n.type island,@object\nisland:\n	.skip 4096,0xf4\n.size island,4096\n");

long target(long n);
void nap(void);
long peek(long *p);
long seen;
static const unsigned char original[5] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x55 };

static volatile int faults;
static long calls;

__attribute__((noinline)) void ready(void) { __asm__ volatile(""); }

static void *work(void *arg)
{
	long n = 0;
	for (long i = 0; i < calls; i++)
		n = target(n);
	return (void *)n;
}

static int child(void *arg)
{
	for (long i = 0; i < 100; i++)
		if (target(i) != i + 1)
			_exit(4);
	if (arg && memcmp((void *)target, original, 5))
		_exit(5);
	_exit(3);
}

static void on_signal(int sig) { faults++; }

static void on_fault(int sig, siginfo_t *si, void *context)
{
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 3; /* over the mov */
	faults++;
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
	const char *how = argv[1];
	int st = 0, ok = 1;
	calls = argc > 2 ? atol(argv[2]) : 1;
	ready();
	if (!strcmp(how, "threads")) {
		pthread_t t[8];
		void *n;
		for (int i = 0; i < 8; i++)
			if (pthread_create(&t[i], 0, work, 0))
				abort();
		for (int i = 0; i < 8; i++) {
			pthread_join(t[i], &n);
			ok = ok && (long)n == calls;
		}
	} else if (!strcmp(how, "once")) {
		ok = work(0) == (void *)calls;
	} else if (!strcmp(how, "fork") || !strcmp(how, "vfork") || !strcmp(how, "vm")) {
		static char stack[65536] __attribute__((aligned(16)));
		pthread_t t[3];
		void *n;
		for (int i = 0; i < 3; i++)
			if (pthread_create(&t[i], 0, work, 0))
				abort();
		for (int i = 0; i < 20 && ok; i++) {
			pid_t pid;
			if (*how == 'f') {
				if ((pid = fork()) == 0)
					child("own memory");
			} else if (how[1] == 'f') {
				if ((pid = vfork()) == 0)
					child(0);
			} else {
				pid = clone(child, stack + sizeof stack, CLONE_VM | SIGCHLD, 0);
			}
			ok = waitpid(pid, &st, 0) == pid && WIFEXITED(st) && WEXITSTATUS(st) == 3;
		}
		for (int i = 0; i < 3; i++) {
			pthread_join(t[i], &n);
			ok = ok && (long)n == calls;
		}
	} else if (!strcmp(how, "exec")) {
		char *args[] = { argv[0], "once", "5", 0 };
		target(0);
		execv(argv[0], args);
		return 4;
	} else if (!strcmp(how, "forever") || !strcmp(how, "later")) { /* slowly, when traced */
		printf("ready\n");
		fflush(stdout);
		while (!traced())
			usleep(1000);
		for (int i = 0; i < 50; i++) {
			usleep(10000);
			ok = ok && target(i) == i + 1;
		}
		if (*how == 'l') {
			char *args[] = { argv[0], "once", "1000", 0 };
			execv(argv[0], args);
			return 4;
		}
		ok = ok && !memcmp((void *)target, original, 5);
	} else if (!strcmp(how, "nap")) {
		signal(SIGUSR1, on_signal);
		printf("ready\n");
		fflush(stdout);
		nap();
		ok = faults == 1;
	} else if (!strcmp(how, "fault")) {
		struct sigaction sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
		sigaction(SIGSEGV, &sa, 0);
		long n = 0x1234;
		ok = peek(&n) == 0x1234 && peek((long *)8) == -1 && peek((long *)0x8000000000000000) == -1 && faults == 0;
		ready();
		peek((long *)8);
		ok = ok && faults == 1;
		signal(SIGSEGV, on_signal);
		raise(SIGSEGV);
		ok = ok && faults == 2;
	}
	return ok ? 7 : 1;
}
