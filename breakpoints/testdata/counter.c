// Preloaded: counts the calls of malloc, calloc, realloc and free with a block
// in the file that COUNT_FILE names, which is mapped and so holds the counts
// however the program ends.
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

static unsigned long early[4], *counts = early;

__attribute__((constructor)) static void begin(void) {
	const char *name = getenv("COUNT_FILE");
	int fd = name ? open(name, O_RDWR | O_CREAT, 0600) : -1;
	if (fd < 0 || ftruncate(fd, sizeof early)) return;
	unsigned long *map = mmap(NULL, sizeof early, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED) return;
	for (int i = 0; i < 4; i++) map[i] = early[i];
	counts = map;
}

#define COUNT(i) __atomic_add_fetch(&counts[i], 1, __ATOMIC_RELAXED)

void *malloc(size_t n) { COUNT(0); return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { COUNT(1); return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { COUNT(2); return __libc_realloc(p, n); }
void free(void *p) { if (p) COUNT(3); __libc_free(p); }
