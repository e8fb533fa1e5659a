//build: -O0
// A program that loses 4321 bytes and gets a signal. Its words:
//	ACTION   handle: counts it; redraw: does what full-screen programs do at SIGTSTP; ignore; default
//	SIGNAL   a number
//	ROUNDS   raises it twice if 0, else waits so many tenths of a second, or until it has handled one
// It says how often it has handled the signal, and ends with that as the exit code.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t got, waiting = 1;

static void handle(int n)
{
	(void)n;
	got++;
	waiting = 0;
}

static void redraw(int n)
{
	sigset_t set;

	write(1, "terminal restored\n", 18);
	signal(n, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, n);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(n);
	signal(n, redraw);
	write(1, "redrawn\n", 8);
}

static void lose(void)
{
	void *volatile block = malloc(4321);

	block = NULL;
	(void)block;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[2]), rounds = atoi(argv[3]);

	(void)argc;
	if (!strcmp(argv[1], "handle"))
		signal(n, handle);
	if (!strcmp(argv[1], "redraw"))
		signal(n, redraw);
	if (!strcmp(argv[1], "ignore"))
		signal(n, SIG_IGN);
	lose();
	printf("ready %d\n", getpid());
	fflush(stdout);
	if (!rounds) {
		raise(n);
		raise(n);
	}
	for (int i = 0; i < rounds && waiting; i++)
		usleep(100000);
	printf("got %d\n", got);
	return got;
}
