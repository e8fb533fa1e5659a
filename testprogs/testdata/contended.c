//build: -pthread
// A mutex that another thread holds most of the time: whoever steps into its
// lock waits in the kernel for that thread.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long n;

static void *hold(void *arg)
{
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&lock);
		n++;
		usleep(3000);
		pthread_mutex_unlock(&lock);
		usleep(100);
	}
	return arg;
}

int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, hold, NULL);
	usleep(10000);
	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&lock);
		n += 1000;
		pthread_mutex_unlock(&lock);
	}
	pthread_join(t, NULL);
	printf("n %ld\n", n);
	return 0;
}
