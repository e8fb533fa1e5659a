// A library with an allocator of its own, loaded and unloaded by loader.c.
#include <stdlib.h>

void *je_malloc(size_t n) { return malloc(n + 1000); }
void je_free(void *p) { free(p); }
void *work(size_t n) {
	void *p = je_malloc(n);
	je_free(p);
	return malloc(n + 1);
}
