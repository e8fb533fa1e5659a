// Macros of the preprocessor, in expressions and by their definitions.
//build: -g3
#include <stdio.h>
#include "macros.h"

#define LIMIT 10
#define SQUARE(x) ((x) * (x))
#define BOTH(a, b) (SQUARE(a) + SQUARE(b))
#define NAME(n) item_##n
#define TEXT(x) #x
#define FIRST(a, ...) (a)
#define MINE LIMIT
#undef LIMIT
#define LIMIT 20
#define GONE 1
#undef GONE

static int item_one = 1;

static int work(int n)
{
	int limit = LIMIT + n;
	return limit + SQUARE(n) + NAME(one) + from_header(n); // line: work
#define LATER 3
}

int main(void)
{
	printf("%s %d\n", TEXT(sum), work(2) + LATER);
	return 0;
}
