// Signals of each kind reach their handlers; the counts are the answer.
// With an argument N, a storm: N real-time signals, queued with values,
// while the program allocates. Nothing may be lost or reordered.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t usr1, trap, alrm, rt, disorder;

static void on_signal(int sig, siginfo_t *si, void *ctx)
{
	(void)ctx;
	if (sig == SIGUSR1)
		usr1++;
	else if (sig == SIGTRAP)
		trap++;
	else if (sig == SIGALRM)
		alrm++;
	else if (sig == SIGRTMIN) {
		if (si->si_value.sival_int != rt)
			disorder++;
		rt++;
	}
}

static void storm(int n)
{
	for (int i = 0; i < n; i++) {
		union sigval v = {.sival_int = i};
		while (sigqueue(getpid(), SIGRTMIN, v) != 0)
			sched_yield();
		free(malloc(64 + i % 1000));
	}
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
	int all[] = {SIGUSR1, SIGTRAP, SIGALRM, SIGRTMIN};
	for (int i = 0; i < 4; i++)
		sigaction(all[i], &sa, NULL);
	if (argc > 1) {
		struct itimerval ms = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
		setitimer(ITIMER_REAL, &ms, NULL);
		storm(atoi(argv[1]));
		while (alrm == 0)
			free(malloc(32));
		setitimer(ITIMER_REAL, &off, NULL);
		printf("rt %d disorder %d\n", (int)rt, (int)disorder);
		return 0;
	}
	raise(SIGUSR1);
	raise(SIGTRAP);
	__asm__ volatile("int3");
	raise(SIGALRM);
	storm(3);
	printf("usr1 %d trap %d alrm %d rt %d\n", (int)usr1, (int)trap, (int)alrm, (int)rt);
	return 0;
}
