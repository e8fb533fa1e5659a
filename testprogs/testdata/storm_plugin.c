// The library that storm_dlopen loads: its constructor and destructor
// allocate too.
#include <stdlib.h>
#include <string.h>

long plugin_mallocs, plugin_frees;
static char *kept;

__attribute__((constructor)) static void load(void)
{
	kept = malloc(1000);
	plugin_mallocs++;
	strcpy(kept, "kept");
	free(malloc(50));
	plugin_mallocs++;
	plugin_frees++;
}

__attribute__((destructor)) static void unload(void)
{
	free(kept);
}

int plugin_run(int n)
{
	int bad = strcmp(kept, "kept") != 0;
	for (int i = 0; i < n; i++) {
		unsigned char *p = malloc(64 + i);
		plugin_mallocs++;
		memset(p, i, 64 + i);
		bad |= p[63 + i] != (unsigned char)i;
		free(p);
		plugin_frees++;
	}
	return bad;
}
