// The program break goes up and down: sbrk with positive and negative sizes.
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	char *first = sbrk(65536);
	char *second = sbrk(-16384);
	char *third = sbrk(-49152);
	void *failed = sbrk(-(1L << 47));
	printf("%d %d %d\n", second == first + 65536, third == second - 16384, failed == (void *)-1);
	return 0;
}
