/* Calls hit() argv[1] times from one thread. */
#include <stdlib.h>

static volatile long total;

__attribute__((noinline)) void hit(long n) { total += n; }

int main(int argc, char **argv)
{
	long n = atol(argv[1]);
	for (long i = 0; i < n; i++)
		hit(1);
	return total == n ? 7 : 1;
}
