// Variables of the same name in different blocks, for display.
//build: -O0
#include <stdio.h>
int total = 1;
int deeper(int n)
{
	int i = 50 + n;
	total += i;
	return i;
}
int main(void)
{
	int sum = 0;
	for (int i = 0; i < 2; i++) {
		int x = i * 2;
		sum += deeper(x);
	}
	int x = 99;
	printf("%d %d\n", sum, x);
	return 0;
}
