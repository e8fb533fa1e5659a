// Steps that begin with a signal, each sent by an instruction of main or raised by one. Handlers
// count, repair, jump away, and one has no lines. With an argument the last signal kills.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int counted, jumped, value;
static volatile int *volatile place = (int *)16;
volatile int plain;
static sigjmp_buf env;

void bare(int sig);
__asm__(".section .text.bare,\"ax\",@progbits\n"
	".globl bare\n.type bare, @function\nbare: .cfi_startproc\nincl plain(%rip)\nret\n"
	".cfi_endproc\n.size bare, .-bare\n.text\n");

static void count(int sig)
{
	(void)sig;
	counted++;
}

static void jump(int sig)
{
	(void)sig;
	jumped++;
	siglongjmp(env, 1);
}

#define SEND(sig) \
	__asm__ volatile("syscall" : "=a"(result) : "a"(SYS_tgkill), "D"(pid), "S"(tid), "d"(sig) : "rcx", "r11", "memory")

int main(int argc, char **argv)
{
	(void)argv;
	long result, pid = getpid(), tid = syscall(SYS_gettid);
	signal(SIGUSR1, count);
	signal(SIGUSR2, bare);
	signal(SIGSEGV, jump);
	SEND(SIGUSR1);
	value++;
	SEND(SIGUSR2);
	value++;
	SEND(SIGCHLD);
	value++;
	if (sigsetjmp(env, 1) == 0)
		*place = 1;
	value++;
	if (argc > 1) {
		signal(SIGSEGV, SIG_DFL);
		*place = 1;
	}
	printf("counted %d plain %d jumped %d value %d\n", counted, plain, jumped, value);
	return 0;
}
