// Variables of each kind, for print, ptype and the like.
#include <stdio.h>

enum color { RED, GREEN, BLUE = 7 };
struct point { int x, y; };
struct shape {
	const char *name;
	struct point at[2];
	enum color color;
	unsigned filled : 1, layer : 7;
	struct shape *next;
};

static int total = 5;

static int area(struct shape *s, int scale)
{
	int side = s->at[1].x - s->at[0].x;
	char text[16] = "side";
	int zeros[20] = {0};
	total += side * scale + zeros[0] + text[0];
	return total;
}

int main(void)
{
	struct shape dot = {"dot", {{1, 1}, {1, 1}}, RED, 1, 2, NULL};
	struct shape box = {"box", {{0, 0}, {4, 3}}, BLUE, 0, 9, &dot};
	int sum = 0;
	for (int i = 1; i <= 3; i++)
		sum += area(&box, i);
	printf("%d\n", sum);
	return 0;
}
