//build: -O2
// Allocations of many sizes; one of 1 MiB + 16 deep in a chain of calls
// whose last three levels are inlined into read_page.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
	char *data;
	size_t used, room;
};

static inline __attribute__((always_inline)) void buffer_resize(struct buffer *b, size_t room)
{
	b->data = realloc(b->data, room);
	b->room = room;
}

static inline __attribute__((always_inline)) void buffer_reserve(struct buffer *b, size_t more)
{
	if (b->used + more > b->room)
		buffer_resize(b, b->used + more);
}

static inline __attribute__((always_inline)) void buffer_append(struct buffer *b, const char *from, size_t n)
{
	buffer_reserve(b, n);
	memcpy(b->data + b->used, from, n);
	b->used += n;
}

static char page[(1 << 20) + 16];

__attribute__((noinline)) static size_t read_page(struct buffer *b)
{
	buffer_append(b, page, sizeof page);
	return b->used;
}

__attribute__((noinline)) static size_t load(int depth, struct buffer *b)
{
	if (depth == 0)
		return read_page(b);
	return load(depth - 1, b) + 1;
}

int main(void)
{
	struct buffer b = {0};
	for (size_t n = 1; n <= 1 << 22; n *= 2)
		free(memset(malloc(n), 1, n));
	printf("%zu\n", load(5, &b));
	free(b.data);
	return 0;
}
