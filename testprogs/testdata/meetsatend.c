// meetsatend: holds 100 blocks of 1,000 bytes, and ends.
//build: -O0
#include <stdlib.h>

static void *kept[100];

__attribute__((noinline)) static void hold(int i) { kept[i] = malloc(1000); }

int main(void)
{
	for (int i = 0; i < 100; i++)
		hold(i);
	return 3;
}
