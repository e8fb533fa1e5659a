/*
 * Receives signals in several threads and counts them; each thread also calls
 * hit() all the time. A sender thread sends argv[2] real-time signals with
 * values 1, 2, ... by sigqueue to the process, and as many SIGUSR1 one by one,
 * each when the one before has been handled. Exit 7: nothing lost, values in
 * order, the siginfo right.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>

static volatile int done;
static long usr1, rt, sum, bad, total;
static sigset_t block;

__attribute__((noinline)) void hit(long n) { __atomic_add_fetch(&total, n, __ATOMIC_RELAXED); }

static void onusr1(int sig, siginfo_t *si, void *ctx)
{
	if (si->si_code != SI_USER || si->si_pid != getpid())
		__atomic_add_fetch(&bad, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&usr1, 1, __ATOMIC_SEQ_CST);
}

static void onrt(int sig, siginfo_t *si, void *ctx)
{
	if (si->si_code != SI_QUEUE)
		__atomic_add_fetch(&bad, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&rt, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&sum, si->si_value.sival_int, __ATOMIC_SEQ_CST);
}

static void *work(void *arg)
{
	while (!done)
		hit(1);
	return 0;
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]);
	long count = atol(argv[2]);
	struct sigaction a = { 0 };
	a.sa_flags = SA_SIGINFO | SA_RESTART;
	a.sa_sigaction = onusr1;
	sigaction(SIGUSR1, &a, 0);
	a.sa_sigaction = onrt;
	sigaction(SIGRTMIN + 3, &a, 0);
	pthread_t *t = calloc(n, sizeof *t);
	for (long i = 0; i < n; i++)
		if (pthread_create(&t[i], 0, work, 0))
			abort();
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	sigaddset(&block, SIGRTMIN + 3);
	pthread_sigmask(SIG_BLOCK, &block, 0);
	for (long i = 1; i <= count; i++) {
		union sigval v = { .sival_int = i };
		while (sigqueue(getpid(), SIGRTMIN + 3, v))
			usleep(100);
		kill(getpid(), SIGUSR1);
		while (__atomic_load_n(&usr1, __ATOMIC_SEQ_CST) < i)
			usleep(50);
	}
	while (__atomic_load_n(&rt, __ATOMIC_SEQ_CST) < count)
		usleep(50);
	usleep(1000);
	done = 1;
	for (int i = 0; i < n; i++)
		pthread_join(t[i], 0);
	printf("usr1 %ld rt %ld sum %ld bad %ld\n", usr1, rt, sum, bad);
	return usr1 == count && rt == count && sum == count * (count + 1) / 2 && !bad ? 7 : 1;
}
