// Nested structs, unions and arrays for the options of print.
#include <string.h>
union u {
	int i;
	float f;
};
struct in {
	int a[3];
	union u u;
};
struct mid {
	struct in in[2];
	char s[40];
};
struct out {
	struct mid m;
	struct mid *p;
	int zeros[20];
};
struct out o;
int matrix[2][3] = {{1, 2, 3}, {4, 5, 6}};
int *gp = &matrix[0][1];
int main(void)
{
	memset(o.m.s, 'x', 30);
	o.p = &o.m;
	o.m.in[1].u.i = 7;
	return 0; // stop
}
