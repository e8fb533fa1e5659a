/*
 * argv[1] threads come argv[2] times each to a gate: between gate_low and gate_high
 * they send themselves SIGURG, 1000 times at most, until somebody moves them to
 * gate_high. Prints "ready" when all run, and at the end how many were moved. With a
 * third argument they begin when somebody traces them, which it says, and end when nobody does.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

long gate(void);
__asm__(".globl gate, gate_low, gate_high\n"
	".type gate, @function\n"
	"gate: push $1000\n"
	"gate_low: decq (%rsp)\n"
	"js gate_high\n"
	"mov $39, %eax; syscall; mov %eax, %edi\n"  // getpid
	"mov $186, %eax; syscall; mov %eax, %esi\n" // gettid
	"mov $23, %edx\n"			    // SIGURG
	"mov $234, %eax; syscall\n"		    // tgkill
	"jmp gate_low\n"
	"gate_high: pop %rax\n"
	"ret\n");

static long moved, rounds;
static volatile int begun, done;

static void *work(void *arg)
{
	while (!begun)
		usleep(1000);
	for (long r = 0; r < rounds && !done; r++)
		if (gate() >= 0)
			__atomic_add_fetch(&moved, 1, __ATOMIC_RELAXED);
	return arg;
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
	int n = atoi(argv[1]);
	begun = argc <= 3;
	rounds = atol(argv[2]);
	pthread_t *t = calloc(n, sizeof *t);
	for (long i = 0; i < n; i++)
		if (pthread_create(&t[i], 0, work, 0))
			abort();
	puts("ready");
	fflush(stdout);
	if (!begun) {
		while (!traced())
			usleep(1000);
		begun = 1;
		puts("begun");
		fflush(stdout);
		while (traced())
			usleep(1000);
		done = 1;
	}
	for (int i = 0; i < n; i++)
		pthread_join(t[i], 0);
	printf("moved %ld\n", moved);
	return 7;
}
