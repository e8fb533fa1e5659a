// Calls every allocator function of C and writes the calls that a tracer must
// see to standard output, between two marks: calloc(1, 0xbe61) and calloc(1, 0xe17d).
// With an argument it leaves out pvalloc, which some allocators do not replace.
// The text is collected in a static buffer, so that saying does not allocate.
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wchar.h>

static char said[1 << 16];
static size_t length;

static void say(const char *format, ...) {
	va_list ap;
	va_start(ap, format);
	length += vsnprintf(said + length, sizeof said - length, format, ap);
	va_end(ap);
}

// result is what a tracer shows of a result.
static const char *result(void *p) {
	static char text[32];
	if (p == NULL) return "NULL";
	if (p == MAP_FAILED) return "-1";
	snprintf(text, sizeof text, "0x%lx", (unsigned long)p);
	return text;
}

static void let_go(void *p) {
	if (p != NULL) say("free(0x%lx)\n", (unsigned long)p);
	free(p);
}

static void *resize(void *p, size_t n) {
	unsigned long old = (unsigned long)p;
	void *q = realloc(p, n);
	say("realloc(0x%lx, %zu) = %s\n", old, n, result(q));
	return q;
}

static void plain(void) {
	size_t sizes[] = {1, 24, 1000, 100000, 200000, 5000000};
	for (int i = 0; i < 6; i++) {
		void *p = malloc(sizes[i]);
		say("malloc(%zu) = %s\n", sizes[i], result(p));
		let_go(p);
		p = calloc(3, sizes[i]);
		say("calloc(3, %zu) = %s\n", sizes[i], result(p));
		let_go(p);
	}
	void *empty = malloc(0);
	say("malloc(0) = %s\n", result(empty));
	let_go(empty);
	free(NULL);
}

static void chains(void) {
	void *p = resize(NULL, 10);
	for (size_t n = 20; n < 4000000; n = n * 5 / 2) p = resize(p, n);
	p = resize(p, 16);
	unsigned long old = (unsigned long)p;
	void *q = reallocarray(p, 7, 30);
	say("reallocarray(0x%lx, 7, 30) = %s\n", old, result(q));
	q = resize(q, 0); // frees, or makes an empty block
	let_go(q);
	void *fresh = reallocarray(NULL, 2, 4);
	say("reallocarray(0x0, 2, 4) = %s\n", result(fresh));
	let_go(fresh);
}

static void failures(void) {
	volatile size_t huge = PTRDIFF_MAX;
	void *p = malloc(huge);
	say("malloc(%zu) = %s\n", (size_t)huge, result(p));
	p = calloc(huge, 16);
	say("calloc(%zu, 16) = %s\n", (size_t)huge, result(p));
	void *kept = malloc(64);
	say("malloc(64) = %s\n", result(kept));
	resize(kept, huge);
	let_go(kept);
	void *out = NULL;
	if (posix_memalign(&out, 3, 8) != EINVAL) abort();
	say("posix_memalign(3, 8) = NULL\n");
	p = mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("mmap(0) = %s\n", result(p));
}

static void aligned(int with_pvalloc) {
	for (size_t align = 16; align <= 65536; align *= 8) {
		void *p = aligned_alloc(align, 2 * align);
		say("aligned_alloc(%zu, %zu) = %s\n", align, 2 * align, result(p));
		let_go(p);
		p = memalign(align, 100);
		say("memalign(%zu, 100) = %s\n", align, result(p));
		let_go(p);
		if (posix_memalign(&p, align, 300) != 0) abort();
		say("posix_memalign(%zu, 300) = %s\n", align, result(p));
		let_go(p);
	}
	void *page = valloc(5000);
	say("valloc(5000) = %s\n", result(page));
	let_go(page);
#ifdef __GLIBC__
	if (with_pvalloc) {
		page = pvalloc(5000);
		say("pvalloc(5000) = %s\n", result(page));
		let_go(page);
	}
#endif
}

static void strings(void) {
	char *s = strdup("seven..");
	say("malloc(8) = %s\n", result(s));
	let_go(s);
	s = strndup("seven and more", 5);
	say("malloc(6) = %s\n", result(s));
	let_go(s);
	wchar_t *w = wcsdup(L"wide");
	say("malloc(%zu) = %s\n", 5 * sizeof *w, result(w));
	let_go(w);
}

static void pages(void) {
	char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say("mmap(8192) = %s\n", result(p));
	char *q = mremap(p, 8192, 1 << 20, MREMAP_MAYMOVE);
	say("mremap(0x%lx, 1048576) = %s\n", (unsigned long)p, result(q));
	say("munmap(0x%lx, 1048576)\n", (unsigned long)q);
	munmap(q, 1 << 20);
#ifdef __GLIBC__
	void *old = sbrk(4096);
	say("sbrk(4096) = %s\n", result(old));
	old = sbrk(-4096);
	say("sbrk(-4096) = %s\n", result(old));
	old = sbrk(-(1L << 47));
	say("sbrk(%ld) = -1\n", -(1L << 47));
	sbrk(0);
#endif
}

int main(int argc, char **argv) {
	void *volatile begin = calloc(1, 0xbe61);
	plain();
	chains();
	failures();
	aligned(argc == 1);
	strings();
	pages();
	void *volatile end = calloc(1, 0xe17d);
	free(begin);
	free(end);
	return write(1, said, length) == (ssize_t)length ? 0 : 1;
}
