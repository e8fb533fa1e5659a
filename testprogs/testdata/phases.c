//build: -O1 -g
// A program in phases: it loads tables, answers requests, some of which leave a
// block behind, has a peak, and ends without giving everything back.
#include <stdlib.h>

enum { TABLES = 20, REQUESTS = 30 };

static char *tables[TABLES];
static char *kept[REQUESTS];
static char *volatile sink; /* keeps the compiler from leaving calls out */

__attribute__((noinline)) static void load(void)
{
	for (int i = 0; i < TABLES; i++) {
		tables[i] = malloc(1000);
		sink = tables[i];
	}
}

__attribute__((noinline)) static void serve(int i)
{
	char *request = malloc(64); /* temporary */
	sink = request;
	free(request);
	if (i % 10 == 9) {
		kept[i] = malloc(200); /* never given back */
		sink = kept[i];
	}
}

__attribute__((noinline)) static void report(void)
{
	char *page = malloc(4096);
	page = realloc(page, 1 << 20); /* the peak */
	sink = page;
	free(page);
}

__attribute__((noinline)) static void unload(void)
{
	for (int i = 0; i < TABLES; i++)
		free(tables[i]);
}

int main(void)
{
	load();
	for (int i = 0; i < REQUESTS; i++)
		serve(i);
	report();
	unload();
	return 0;
}
