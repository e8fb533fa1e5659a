// Allocates for ever in a loop: something to interrupt.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned long rounds;

__attribute__((noinline)) static void turn(void)
{
	free(malloc(100 + rounds % 100));
	rounds++;
}

int main(void)
{
	puts("spinning");
	fflush(stdout);
	for (;;) {
		turn();
		if (rounds % 1000 == 0)
			usleep(1000);
	}
}
