//build: -O1
// An allocator of the program's own: arena_alloc(arena, align, size) and
// arena_free(arena, block).
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct arena {
	char *next, *end;
	long frees;
};

static char room[1 << 16];

__attribute__((noinline)) void *arena_alloc(struct arena *a, size_t align, size_t size)
{
	char *p = (char *)(((uintptr_t)a->next + align - 1) & ~(uintptr_t)(align - 1));
	if (size > (size_t)(a->end - p))
		return NULL;
	a->next = p + size;
	return p;
}

__attribute__((noinline)) void arena_free(struct arena *a, void *block)
{
	a->frees += block != NULL;
}

int main(void)
{
	struct arena a = {room, room + sizeof room, 0};
	int null = 0;
	for (int i = 1; i <= 20; i++) {
		char *p = arena_alloc(&a, 16, i * 500);
		if (p == NULL) {
			null++;
			continue;
		}
		memset(p, 1, i * 500);
		arena_free(&a, p);
	}
	printf("null %d frees %ld\n", null, a.frees);
	return 0;
}
