//build: -O1 -fno-builtin -Wl,--no-as-needed -lc -ljemalloc
// Two heaps: malloc is the C library's, which comes first, and mallocx jemalloc's. Blocks of each hold blocks of the
// other.
#include <stdlib.h>
#include <string.h>

void *mallocx(size_t size, int flags);
void dallocx(void *p, int flags);

struct node {
	struct node *next;
	char text[40];
};

struct node *list;

static struct node *linked(struct node *n, const char *text)
{
	n->next = list;
	strcpy(n->text, text);
	return n;
}

static __attribute__((noinline)) void make(void)
{
	list = linked(malloc(sizeof *list), "malloc");
	list = linked(mallocx(sizeof *list, 0), "mallocx");
	list = linked(malloc(2 * sizeof *list), "malloc");
	strcpy(mallocx(5000, 0), "lost by mallocx");
	strcpy(malloc(6000), "lost by malloc");
	dallocx(mallocx(100, 0), 0);
}

static __attribute__((noinline)) void wipe(void)
{
	volatile char old[4096];
	memset((void *)old, 0, sizeof old);
}

int main(void)
{
	make();
	wipe();
	return list == NULL;
}
