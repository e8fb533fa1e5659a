// One call of each allocator function, sizes known to the tests.
#include <stdlib.h>
#include <string.h>

int main(void)
{
	char *a = malloc(100);
	char *b = calloc(10, 20);
	char *volatile none = NULL; // or gcc calls malloc for this realloc
	char *c = realloc(none, 300);
	char *d = realloc(c, 4000);
	void *e = NULL;
	if (posix_memalign(&e, 64, 4096) != 0)
		return 1;
	void *f = aligned_alloc(32, 96);
	char *g = strdup("seven bytes...");
	char *h = reallocarray(NULL, 7, 11);
	memset(a, 1, 100);
	memset(d, 1, 4000);
	free(h);
	free(g);
	free(f);
	free(e);
	free(d);
	free(b);
	free(a);
	free(NULL);
	return 0;
}
