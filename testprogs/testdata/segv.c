// Dies of SIGSEGV writing to address 16, two calls below main.
#include <stdlib.h>

struct node {
	long a, b;
	long value;
};

__attribute__((noinline)) static void set(struct node *n, long value)
{
	n->value = value;
}

__attribute__((noinline)) static void update(struct node *n)
{
	set(n, 42);
}

int main(void)
{
	struct node *n = malloc(sizeof *n);
	update(n);
	free(n);
	update(NULL);
	return 0;
}
