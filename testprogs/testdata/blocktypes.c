// Allocates blocks in the ways that programs of C do, and tells of which type each is: "= TYPE ADDRESS". A ? stands
// for a block of which the source does not tell the type: a debugger may say nothing, or what is declared.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node { struct node *next; int value; };
struct text { size_t len; char data[]; };
struct list { struct node *head; struct node **table; struct text *text; struct node *slots[4]; int used; };
union either { long number; double real; char bytes[24]; };
typedef struct { int x, y, z; } point;
struct base { int kind; int size; };
struct derived { struct base base; long more[3]; };
struct header { size_t size; struct header *next; };

static struct list *list;
struct node *head;
double *numbers;
point *points[3], *grid[2][3];

__attribute__((noinline)) static void tell(const char *type, const void *at) { printf("= %s %p\n", type, at); fflush(stdout); }
__attribute__((noinline)) static void blocks_told(void) { fflush(stdout); }

static void *xmalloc(size_t n)
{
	void *p = malloc(n);
	if (!p)
		abort();
	return p;
}

static void *xcalloc2(size_t n, size_t size) { return calloc(n, size); }

static struct node *node_new(int value, struct node *next)
{
	struct node *n = xmalloc(sizeof *n);
	n->value = value;
	n->next = next;
	return n;
}

__attribute__((noinline)) static point *point_new(int x)
{
	point *p = malloc(sizeof(point));
	if (!p)
		return NULL;
	p->x = x;
	p->y = p->z = 0;
	return p;
}

__attribute__((noinline)) static void push(struct list *l, struct node *n)
{
	n->next = l->head;
	l->head = n;
}

static void append(struct node **link)
{
	while (*link)
		link = &(*link)->next;
	*link = calloc(1, sizeof **link);
}

// with_header returns memory behind a header of its own.
__attribute__((noinline)) static void *with_header(size_t n)
{
	struct header *h = malloc(sizeof *h + n);
	h->size = n;
	h->next = NULL;
	return h + 1;
}

__attribute__((noinline)) static struct base *derived_new(void)
{
	struct derived *d = malloc(sizeof *d);
	memset(d, 0, sizeof *d);
	return &d->base;
}

int main(int argc, char **argv)
{
	struct node *a = malloc(sizeof *a);
	a->next = NULL;
	a->value = argc;
	tell("node", a);
	list = xmalloc(sizeof *list);
	memset(list, 0, sizeof *list);
	tell("list", list);
	list->head = malloc(sizeof(struct node));
	list->head->next = a;
	tell("node", list->head);
	list->table = xcalloc2(argc + 10, sizeof *list->table);
	tell("node *[]", list->table);
	list->table[argc] = malloc(sizeof(struct node));
	tell("node", list->table[argc]);
	list->slots[argc + 1] = malloc(sizeof(struct node));
	tell("node", list->slots[argc + 1]);
	list->text = malloc(sizeof(struct text) + 13 + argc);
	list->text->len = 13;
	tell("text+", list->text);
	head = node_new(4, a);
	tell("node", head);
	push(list, malloc(sizeof(struct node)));
	tell("node", list->head);
	push(list, node_new(7, NULL));
	tell("node", list->head);
	numbers = malloc(sizeof(double) * 100);
	numbers[argc] = 1;
	tell("double[]", numbers);
	for (int i = 0; i < 3; i++) {
		points[i] = point_new(i);
		tell("point", points[i]);
	}
	struct node *array = calloc(10 + argc, sizeof *array);
	array[argc].value = 1;
	tell("node[]", array);
	struct node *grown = realloc(NULL, 4 * sizeof *grown);
	grown = realloc(grown, 40 * sizeof *grown);
	grown[argc].value = 1;
	tell("node[]", grown);
	char *copy = strdup("a text to copy");
	tell("char[]", copy);
	char *line = malloc(100 + argc);
	snprintf(line, 100, "%d", argc);
	tell("char[]", line);
	int **rows = malloc(5 * sizeof *rows);
	for (int i = 0; i < 5; i++)
		rows[i] = calloc(7, sizeof **rows);
	tell("int *[]", rows);
	tell("int[]", rows[argc]);
	tell("int[]", rows[4]);
	union either *e = argc > 5 ? NULL : malloc(sizeof *e);
	e->number = argc;
	tell("either", e);
	append(&a->next);
	tell("node", a->next);
	append(&a->next);
	tell("node", a->next->next);
	struct header *behind = with_header(64);
	tell("?", behind - 1);
	struct base *based = derived_new();
	tell("derived", based);
	void *raw = malloc(77);
	memset(raw, 0, 77);
	tell("?", raw);
	long *aligned = aligned_alloc(64, 128);
	aligned[argc] = 1, grid[argc][2] = points[0];
	tell("long[]", aligned);
	blocks_told();
	return list->used + head->value + (int)numbers[argc] + *copy + line[0];
}
