//build: -static-pie
// A static program that is loaded at any address: the allocator is part of
// it and there is no dynamic linker.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	char *p = malloc(1 << 20);
	memset(p, 1, 1 << 20);
	p = realloc(p, 3 << 20);
	char *s = strdup("static");
	printf("%s %d\n", s, p[5]);
	free(s);
	free(p);
	return 0;
}
