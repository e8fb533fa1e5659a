// limited: allocates 60 MB, and ends with 1 if it gets less.
//build: -O0
#include <stdlib.h>

static void *kept[600];

int main(void)
{
	for (int i = 0; i < 600; i++)
		if (!(kept[i] = malloc(100000)))
			return 1;
	return 0;
}
