/* Two threads wait for each other without system calls. */
#include <pthread.h>

static volatile int turn;

static void *work(void *arg)
{
	for (int i = 0; i < 20; i++) {
		while (turn != 1)
			;
		turn = 0;
	}
	return arg;
}

int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, work, 0);
	for (int i = 0; i < 20; i++) {
		while (turn != 0)
			;
		turn = 1;
	}
	pthread_join(t, 0);
	return 7;
}
