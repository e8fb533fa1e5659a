// Each case, by its name as argument, makes glibc's malloc end the program by a check of its own.
//build: -O0
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

NOINLINE static char *make(size_t size)
{
	return malloc(size);
}

NOINLINE static void fill(char *p, size_t size)
{
	memset(p, 'A', size);
}

NOINLINE static void give(void *p)
{
	free(p);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	char *p = make(24), *q = make(2000), *r = make(24);
	if (!strcmp(what, "double")) {
		give(p);
		give(p);
	} else if (!strcmp(what, "pointer")) {
		give(p + 16);
	} else if (!strcmp(what, "behind")) { // the size of q
		fill(p, 32);
		give(q);
	} else if (!strcmp(what, "top")) {
		fill(r, 32);
		make(100000);
	} else if (!strcmp(what, "stale")) { // the link of a block in the tcache
		give(p);
		give(r);
		r[0] ^= 8, fill(r + 1, 7); // to no multiple of 16, wherever the heap is
		make(24);
		make(24);
	}
	return 0;
}
