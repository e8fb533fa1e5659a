//build: -O1 -Wl,-z,now
// Allocations where the stack ends: calls with LEFT bytes and then less of it
// above the guard page, in threads and in the first thread.
#define _GNU_SOURCE
#include <alloca.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static long left, mallocs, callocs, reallocs, frees, wrong;

// allocate makes all kinds of calls; what it needs of the stack is less than
// what the C library needs.
__attribute__((noinline)) static void allocate(size_t n)
{
	char *p = malloc(n), *q = calloc(1, n);
	q = realloc(q, 2 * n);
	wrong += p == NULL || q == NULL || q[0] != 0;
	free(q);
	free(p);
	mallocs++;
	callocs++;
	reallocs++;
	frees += 2;
}

// close goes down until only so many bytes are left above low.
__attribute__((noinline)) static void close_to(uintptr_t low, long bytes)
{
	volatile char here;
	long room = (long)((uintptr_t)&here - low) - bytes;
	if (room > 0) {
		volatile char *p = alloca(room);
		for (long i = room - 1; i >= 0; i -= 1024)
			p[i] = 1; // the first thread's stack grows page by page
		allocate(50);
	}
}

__attribute__((noinline)) static void all(uintptr_t low)
{
	for (long bytes = 16384; bytes >= left; bytes -= 256)
		close_to(low, bytes);
}

static void *work(void *arg)
{
	pthread_attr_t a;
	void *low;
	size_t size;
	pthread_getattr_np(pthread_self(), &a);
	pthread_attr_getstack(&a, &low, &size);
	pthread_attr_destroy(&a);
	all((uintptr_t)low);
	return arg;
}

// stack_top is the end of the first thread's stack.
static uintptr_t stack_top(void)
{
	char line[512];
	uintptr_t from, to = 0;
	FILE *f = fopen("/proc/self/maps", "r");
	while (fgets(line, sizeof line, f))
		if (strstr(line, "[stack]") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			break;
	fclose(f);
	return to;
}

int main(int argc, char **argv)
{
	left = argc > 1 ? atol(argv[1]) : 2048;
	allocate(50); // libraries are loaded, caches made
	pthread_t t;
	for (int i = 0; i < 4; i++) {
		pthread_create(&t, NULL, work, NULL);
		pthread_join(t, NULL);
	}
	struct rlimit limit = {1 << 20, 8 << 20};
	if (setrlimit(RLIMIT_STACK, &limit) != 0)
		return 2;
	all(stack_top() - limit.rlim_cur);
	printf("wrong %ld\n", wrong);
	printf("calls malloc %ld calloc %ld realloc %ld free %ld\n", mallocs, callocs, reallocs, frees);
	return wrong != 0;
}
