// Functions that change and read what others own, for stops whose conditions ask for variables
// of another frame, or for some that cannot be read.
#include <stdlib.h>

struct list {
	int used;
	struct list *next;
};

static void append(struct list *to, int n)
{
	to->used += n;
}

static int visit(struct list *p, int m)
{
	return p == NULL ? m : m + 1;
}

static void *take(int line)
{
	return malloc(line);
}

int main(void)
{
	struct list whole = {0, NULL}, *list = &whole;
	int sum = 0;
	for (int i = 0; i < 6; i++) // here
		append(list, i);
	for (long i = 0; i < 6; i++)
		sum += visit((struct list *)(i % 2 * 4096 * i), i);
	for (int i = 1; i < 5; i++)
		free(take(i));
	return sum == 0;
}
