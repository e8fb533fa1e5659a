// Threads that count while main runs, for stops that let only one of them go on. The
// thread of work ends when main lets it, that of count never does.
#include <pthread.h>
#include <signal.h>

static volatile long counter, before, handled, go, done;

static void *count(void *arg)
{
	for (;;)
		counter++;
	return arg;
}

__attribute__((noinline)) static void busy(void)
{
	for (volatile int i = 0; i < 10000000; i++)
		;
}

__attribute__((noinline)) static void await(void)
{
	for (long c = counter; counter == c;) ;
}

static void *work(void *arg)
{
	done++; // line: work
	return arg;
}

static void handle(int sig) { handled += sig; }

int main(void)
{
	pthread_t t, u;
	signal(SIGUSR1, handle);
	pthread_create(&t, NULL, count, NULL);
	await();
	before = counter; // line: before
	busy();
	busy();
	await();
	await();
	raise(SIGUSR1); // line: raise
	pthread_create(&u, NULL, work, NULL);
	busy();
	pthread_join(u, NULL);
	await(); // line: await
	return 3;
}
