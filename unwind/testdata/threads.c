// Threads asleep in libc, and one in the program's own code.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static pthread_barrier_t all;
static atomic_int arrived; // at the mutex, with all of their frames
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void stop_here(void) { __asm__ volatile("" ::: "memory"); }

__attribute__((noinline)) static int locked(int depth)
{
	if (depth > 0) {
		int n = locked(depth - 1);
		__asm__ volatile("" ::: "memory"); // or the recursion becomes a loop
		return n + 1;
	}
	arrived++;
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	return 0;
}

static void *run(void *arg)
{
	pthread_barrier_wait(&all);
	return (void *)(long)locked((int)(long)arg);
}

int main(int argc, char **argv)
{
	pthread_t t[6];
	pthread_mutex_lock(&held);
	pthread_barrier_init(&all, 0, 7);
	for (long i = 0; i < 6; i++)
		pthread_create(&t[i], 0, run, (void *)(i * 4));
	pthread_barrier_wait(&all);
	while (arrived < 6)
		usleep(1000);
	stop_here();
	pthread_mutex_unlock(&held);
	for (int i = 0; i < 6; i++)
		pthread_join(t[i], 0);
	return 0;
}
