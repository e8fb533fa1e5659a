// locked: has all of its memory locked, allocates, and ends with 3.
//build: -O0
#include <stdlib.h>
#include <sys/mman.h>

static void *kept[100];

int main(void)
{
	mlockall(MCL_CURRENT | MCL_FUTURE);
	for (int i = 0; i < 100; i++)
		kept[i] = malloc(100);
	return 3;
}
