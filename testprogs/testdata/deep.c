// Recursion of a depth given as the argument, and an allocation at the end.
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static int down(int depth)
{
	if (depth == 0) {
		void *p = malloc(6000);
		int ok = p != NULL;
		free(p);
		return ok;
	}
	return down(depth - 1) + 1;
}

int main(int argc, char **argv)
{
	printf("%d\n", down(argc > 1 ? atoi(argv[1]) : 50));
	return 0;
}
