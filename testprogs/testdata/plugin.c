// The library of dlopen.c.
#include <stdlib.h>

static void *kept;

__attribute__((constructor)) static void load(void)
{
	kept = malloc(11111);
}

__attribute__((destructor)) static void unload(void)
{
	free(kept);
}

int plugin_run(int n)
{
	char *p = malloc(22222);
	p[n] = n + 1;
	int result = p[n];
	free(p);
	return result;
}
