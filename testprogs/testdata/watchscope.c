//build: -O0
// A local variable of a function that calls itself.
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static int sum(int n)
{
	volatile int s = 0;
	for (int i = 0; i < n; i++)
		s += i;
	return n > 2 ? s + sum(n - 1) : s;
}

int main(void)
{
	int r = sum(3);
	r += sum(2);
	free(malloc(r));
	printf("%d\n", r);
	return 0;
}
