// Functions f01, f02 ... return a value of each class of the System V ABI.
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef int v4si __attribute__((vector_size(16)));
typedef double v2df __attribute__((vector_size(16)));
enum color { RED, GREEN = 5, BLUE };
typedef struct { int x, y; } point;
struct one { double d; };
struct two { double a, b; };
struct mixed { long n; double d; };
struct xedim { double d; long n; };
struct packed { char c; double d; } __attribute__((packed));
struct halves { float a, b, c; };
struct intfloat { int i; float f; };
struct floats4 { float v[4]; };
struct big { long a, b, c; };
struct ldbl { long double x; };
struct chars { char s[11]; };
struct bits { unsigned a : 3, b : 20; long c : 40; };
struct inner { point p; struct one o; };
struct withptr { const char *s; short n; };
struct trail { double d; char c; };
union un { double d; long n; };
union fu { float f; double d; };
union lu { long double x; int i; };
typedef struct { _Complex float z; int n; } cnum;
struct holed { char c; _Alignas(16) char d; };

#define FN __attribute__((noinline, noclone))
volatile int sink;
static int table[4] = {1, 2, 3, 4};
FN void f01(void) { sink++; }
FN char f02(void) { sink++; return 'a'; }
FN signed char f03(void) { sink++; return -3; }
FN unsigned short f04(void) { sink++; return 65535; }
FN int f05(void) { sink++; return -7; }
FN unsigned f06(void) { sink++; return 4000000000u; }
FN long f07(void) { sink++; return -123456789012l; }
FN bool f08(void) { sink++; return true; }
FN enum color f09(void) { sink++; return GREEN; }
FN int *f10(void) { sink++; return table + 1; }
FN const char *f11(void) { sink++; return "text"; }
FN float f12(void) { sink++; return 1.25f; }
FN double f13(void) { sink++; return -2.5; }
FN long double f14(void) { sink++; return 3.25L; }
FN _Complex float f15(void) { sink++; return 1.5f + 2.5f * I; }
FN _Complex double f16(void) { sink++; return 1.5 + 2.5 * I; }
FN _Complex long double f17(void) { sink++; return 1.5L + 2.5L * I; }
FN __int128 f18(void) { sink++; return ((__int128)5 << 64) + 7; }
FN point f19(void) { sink++; return (point){1, -2}; }
FN struct one f20(void) { sink++; return (struct one){0.5}; }
FN struct two f21(void) { sink++; return (struct two){0.5, 1.5}; }
FN struct mixed f22(void) { sink++; return (struct mixed){11, 1.5}; }
FN struct xedim f23(void) { sink++; return (struct xedim){1.5, 11}; }
FN struct packed f24(void) { sink++; return (struct packed){'p', 4.5}; }
FN struct halves f25(void) { sink++; return (struct halves){1, 2, 3}; }
FN struct intfloat f26(void) { sink++; return (struct intfloat){4, 0.25}; }
FN struct floats4 f27(void) { sink++; return (struct floats4){{1, 2, 3, 4}}; }
FN struct big f28(void) { sink++; return (struct big){1, 2, 3}; }
FN struct ldbl f29(void) { sink++; return (struct ldbl){7.5L}; }
FN struct chars f30(void) { sink++; return (struct chars){"ten chars!"}; }
FN struct bits f31(void) { sink++; return (struct bits){5, 1000, -9}; }
FN struct inner f32(void) { sink++; return (struct inner){{1, 2}, {3.5}}; }
FN struct withptr f33(void) { sink++; return (struct withptr){"pointed", 12}; }
FN struct trail f34(void) { sink++; return (struct trail){2.5, 't'}; }
FN union un f35(void) { sink++; return (union un){.n = 77}; }
FN union fu f36(void) { sink++; return (union fu){.d = 8.5}; }
FN uint8_t f37(void) { sink++; return 200; }
FN cnum f38(void) { sink++; return (cnum){1.5f + 2.5f * I, 3}; }
FN v4si f39(void) { sink++; return (v4si){1, 2, 3, 4}; }
FN v2df f40(void) { sink++; return (v2df){1.5, 2.5}; }
FN __float128 f41(void) { sink++; return 6.5; }
FN struct holed f42(void) { sink++; return (struct holed){'h', 'd'}; }
FN int (*f43(void))(int) { sink++; return (int (*)(int))puts; }
FN union lu f44(void) { sink++; return (union lu){.x = 9.5L}; }

int main(void)
{
	f01(); f02(); f03(); f04(); f05(); f06(); f07(); f08(); f09(); f10(); f11();
	f12(); f13(); f14(); f15(); f16(); f17(); f18(); f19(); f20(); f21(); f22();
	f23(); f24(); f25(); f26(); f27(); f28(); f29(); f30(); f31(); f32(); f33();
	f34(); f35(); f36(); f37(); f38(); f39(); f40(); f41(); f42(); f43(); f44();
	return 0;
}
