// Chains of realloc: growing, shrinking, to zero, from NULL, in place and
// moved, and one that fails and leaves its block live.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	char *p = NULL;
	for (size_t n = 16; n <= 1 << 21; n *= 4) {
		p = realloc(p, n);
		memset(p, 1, n);
	}
	p = realloc(p, 1000);
	volatile size_t huge = SIZE_MAX / 4;
	char *q = realloc(p, huge);
	if (q == NULL)
		p[999] = 2; // still ours
	p = reallocarray(p, 30, 50);
	q = malloc(10);
	q = realloc(q, 0);
	printf("%d %s\n", p[999], q ? "block" : "null");
	free(p);
	return 0;
}
