// Globals to watch, of each width; step() changes them in a known order.
#include <stdio.h>
struct { unsigned low : 3, high : 5; } packed; // high changes every second time
unsigned char byte_value;
short short_value;
int int_value = 7;
long long_value;
int table[4] = {1, 2, 3, 4};

__attribute__((noinline)) static int step(int n)
{
	byte_value = n;
	short_value = n * 2;
	int_value += n;
	long_value = int_value * 3L;
	table[n % 4]++;
	return packed.low = n, packed.high = n / 2, int_value;
}

int main(void)
{
	int sum = 0;
	for (int i = 1; i <= 3; i++)
		sum += step(i);
	printf("sum %d\n", sum);
	return 0;
}
