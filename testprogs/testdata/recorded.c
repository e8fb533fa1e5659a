//build: -O1 -fno-builtin
// A program that hdb record records. It makes MILLISECONDS rounds, each of ten
// blocks given back and one kept, and ends with exit code 7. Words before the
// number:
//	catch    says "interrupted" at SIGINT rather than dying of it
//	ignore   ignores SIGINT and SIGTERM
//	fork     has a child do the same
//	exec     does it again in the program that it executes, itself
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void on_interrupt(int sig)
{
	static const char text[] = "interrupted\n";
	(void)sig;
	if (write(1, text, sizeof text - 1) < 0)
		_exit(1);
}

__attribute__((noinline)) static void *keep(size_t n)
{
	return malloc(n);
}

__attribute__((noinline)) static void round_of_ten(void)
{
	for (int i = 0; i < 10; i++) {
		char *volatile p = malloc(100 + i);
		p[0] = i;
		free(p);
	}
}

int main(int argc, char **argv)
{
	int at = 1;
	for (; at < argc - 1; at++) {
		if (strcmp(argv[at], "catch") == 0)
			signal(SIGINT, on_interrupt);
		if (strcmp(argv[at], "ignore") == 0) {
			signal(SIGINT, SIG_IGN);
			signal(SIGTERM, SIG_IGN);
		}
		if (strcmp(argv[at], "fork") == 0)
			fork();
	}
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	for (int i = 0; i < atoi(argv[at]); i++) {
		round_of_ten();
		keep(1000);
		usleep(1000);
	}
	for (int i = 1; i < at; i++)
		if (strcmp(argv[i], "exec") == 0) {
			char *args[] = {argv[0], argv[at], 0};
			execv(argv[0], args);
		}
	while (wait(NULL) > 0)
		;
	puts("done");
	return 7;
}
