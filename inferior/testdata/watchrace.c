// One thread writes a counter all the time while another comes to the same place.
#include <pthread.h>
#include <stdio.h>

long counter;
static volatile int over;

__attribute__((noinline)) static void tick(void) { __asm__ volatile(""); }

static void *ticker(void *arg)
{
	while (!over)
		tick();
	return arg;
}

int main(void)
{
	pthread_t t;
	if (pthread_create(&t, NULL, ticker, NULL) != 0)
		return 1;
	for (int i = 0; i < 300; i++)
		*(volatile long *)&counter += 1;
	over = 1;
	pthread_join(t, NULL);
	printf("%ld\n", counter);
	return 0;
}
