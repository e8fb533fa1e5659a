// A library of threadlocal.c, built twice: keep_NAME keeps a block in the thread-local variable NAME.
struct node {
	struct node *next;
	long value;
};

#define PASTE(a, b) a##b
#define KEEP(name) PASTE(keep_, name)

static __thread struct {
	long count;
	struct node *kept[3];
} NAME;

void KEEP(NAME)(void *block)
{
	NAME.count++;
	NAME.kept[1] = block;
}
