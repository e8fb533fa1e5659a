// longjmp leaves an allocator function: the out-of-memory hook of a user's
// allocator jumps out while its caller waits for a result.
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static jmp_buf out;

__attribute__((noinline)) void *checked_alloc(size_t n)
{
	void *p = malloc(n);
	if (n > 100)
		longjmp(out, 1);
	return p;
}

int main(void)
{
	volatile int jumps = 0;
	for (volatile int i = 0; i < 5; i++) {
		if (setjmp(out) == 0)
			free(checked_alloc(i % 2 ? 1000 : 10));
		else
			jumps++;
	}
	printf("jumps %d\n", jumps);
	return 0;
}
