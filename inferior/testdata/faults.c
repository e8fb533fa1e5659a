/* Does what argv[1] names. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile int handled;
static void on(int sig) { handled++; }

__attribute__((noinline)) void hit(long n) { handled += n; }

int main(int argc, char **argv)
{
	const char *what = argv[1];
	volatile int zero = 0;
	if (!strcmp(what, "read0"))
		return *(volatile int *)0;
	if (!strcmp(what, "write"))
		*(volatile int *)0x1234 = 1;
	if (!strcmp(what, "readonly"))
		*(volatile char *)mmap(0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1;
	if (!strcmp(what, "execute"))
		((void (*)(void))0x4321)();
	if (!strcmp(what, "divide"))
		return 12345 / zero;
	if (!strcmp(what, "illegal"))
		__asm__("ud2");
	if (!strcmp(what, "canonical"))
		return *(volatile int *)0x8888888888888888;
	if (!strcmp(what, "abort"))
		abort();
	if (!strcmp(what, "int3")) {
		__asm__ volatile("int3");
		__asm__ volatile("int3");
		hit(1);
		return handled == 1 ? 7 : 1;
	}
	if (!strcmp(what, "trap")) {
		signal(SIGTRAP, on);
		raise(SIGTRAP);
		return handled == 1 ? 7 : handled;
	}
	if (!strcmp(what, "usr1")) {
		signal(SIGUSR1, on);
		raise(SIGUSR1);
		hit(0);
		return handled == 1 ? 7 : handled;
	}
	if (!strcmp(what, "alarm")) {
		signal(SIGALRM, on);
		alarm(1);
		pause();
		return handled == 1 ? 7 : 1;
	}
	if (!strcmp(what, "stop")) {
		raise(SIGSTOP);
		return 7;
	}
	if (!strcmp(what, "sleep"))
		for (;;)
			pause();
	if (!strcmp(what, "files")) {
		char line[100] = "";
		if (!fgets(line, sizeof line, stdin))
			return 1;
		printf("out %s", line);
		fflush(stdout);
		fprintf(stderr, "err %s", getenv("FAULTS") ? getenv("FAULTS") : "none");
		return 7;
	}
	return 1;
}
