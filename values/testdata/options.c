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
// Structs with holes, bit fields and members without names, for ptype/o.
struct small { char c; short s; };
union any { int i; double d; char t[3]; };
struct bits { unsigned a : 3; unsigned b : 7; unsigned c : 25; long d : 5; char e; };
struct all {
	char c;
	int i;
	struct small in;
	union any u;
	struct { char x; long y; } anon;
	union { int q; char w; };
	struct bits b;
	char tail[3];
	struct all *next;
	int (*fn)(int);
	short last;
};
struct empty {};
enum color { RED, GREEN };
struct all all;
struct empty empty;
enum color color;

int main(void)
{
	memset(o.m.s, 'x', 30);
	o.p = &o.m;
	o.m.in[1].u.i = 7;
	return 0; // stop
}
