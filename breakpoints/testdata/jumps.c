// A user's allocator that is left by longjmp, from frames of many depths, and
// one that returns its block through a pointer: get(pool, &out, size).
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jmp_buf out_of_memory;

__attribute__((noinline)) void *pool_get(void *pool, size_t size) {
	if (size > 1000) longjmp(out_of_memory, 1);
	char *p = malloc(size + 16); // with a header of its own
	return p + 16;
}

__attribute__((noinline)) void pool_put(void *pool, void *p) { free((char *)p - 16); }

__attribute__((noinline)) int pool_get_at(void *pool, void **out, size_t size) {
	*out = malloc(size);
	return *out != NULL;
}

static __attribute__((noinline)) void *deep(int n, size_t size) {
	volatile char room[200];
	room[n % 200] = 1;
	if (n > 0) return deep(n - 1, size);
	void *p = pool_get(NULL, size);
	return room[0] == 3 ? NULL : p;
}

int main(void) {
	for (volatile int i = 0; i < 20; i++) {
		if (setjmp(out_of_memory) == 0) deep(i * 7 % 10, 2000 + i);
		void *p = deep(i * 3 % 10, 100 + i);
		pool_put(NULL, p);
	}
	void *p = NULL;
	if (!pool_get_at(NULL, &p, 77)) return 1;
	free(p);
	return 0;
}
