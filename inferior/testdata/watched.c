/* Threads write a global, one after the other; argv[1] of them. */
#include <pthread.h>
#include <stdlib.h>

long watched, other;

static void *work(void *arg)
{
	other++;
	watched = (long)arg;
	watched = (long)arg; /* the same value again: no change */
	return 0;
}

int main(int argc, char **argv)
{
	long n = atol(argv[1]);
	for (long i = 1; i <= n; i++) {
		pthread_t t;
		pthread_create(&t, 0, work, (void *)i);
		pthread_join(t, 0);
	}
	return watched == n ? 7 : 1;
}
