// Six items are visited, each a larger block, for scripts that count and print; with an
// argument it ends by a fault, else with exit code 3.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
	int id;
	double weight;
	const char *name;
	char tag[4];
};

static const char *names[] = {"ant", "bee", "cat", "dog", "eel", "fox"};

static int visits;

__attribute__((noinline)) static void visit(struct item *it, int round)
{
	visits += it->id > round ? 2 : 1;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 6; i++) {
		struct item *it = malloc(sizeof *it + 500 * i);
		it->id = i;
		it->weight = i * 1.5;
		it->name = names[i];
		memcpy(it->tag, "tag", 4);
		visit(it, 0);
		free(it);
	}
	printf("%d visits\n", visits);
	fflush(stdout);
	if (argc > 1)
		*(volatile int *)16 = visits;
	return 3;
}
