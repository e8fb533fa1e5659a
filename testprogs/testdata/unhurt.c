// Rounds of allocation, until the file that the argument names exists, five at least. It prints
// "ready" and "fine", and exits with 7.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

volatile long total;

__attribute__((noinline)) static void work(long n)
{
	char *p = malloc(n);
	memset(p, 1, n);
	p = realloc(p, 2 * n);
	total += p[n - 1];
	free(p);
	free(calloc(3, n));
}

int main(int argc, char **argv)
{
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < 5 || (argc > 1 && access(argv[1], F_OK)); i++) {
		work(16000);
		usleep(1000);
	}
	puts("fine");
	return total > 0 ? 7 : 1;
}
