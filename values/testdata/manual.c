// What chapters "Examining Data" and "Expressions" of gdb's manual are about, in C.
#include <complex.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uchar.h>
#include <wchar.h>

enum mode { READ = 1, WRITE = 2, EXEC = 4, ALL = 7 };
enum gaps { LOW = 0x1, HIGH = 0x10, TWO = 0x6 };
enum sign { MINUS = -1, ZERO, PLUS };
enum big { HUGE_ONE = 0x100000000ull };
struct bits { unsigned a : 3; int b : 5; unsigned long long c : 40; _Bool d : 1; enum mode m : 3; signed char e : 2; };
union number { int i; float f; unsigned char b[4]; struct { short lo, hi; }; };
struct flexible { int n; double d[]; };
struct zero { int n; char c[0]; };
struct nested { struct { int x; union { int y; float z; }; }; struct bits bits; union number num; int (*fn)(int); };
typedef struct nested nested_t;
typedef int (*fn_t)(int);
static int twice(int x) { return 2 * x; }
static void nothing(void) {}
static int hidden = 11;
int shared = 12;
const char *words[] = { "zero", "one", "two" };
static double add(double a, float b) { return a + b; }
static struct bits same(struct bits b) { return b; }
int counted(void)
{
	static int calls;
	return ++calls;
}

int work(int n, char **argv)
{
	int x[5] = { 10, 20, 30, 40, 50 };
	int grid[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
	int vla[n];
	short vlb[n][2];
	char text[16] = "text\n\t\"q\"";
	char bytes[4] = { 'a', 'b', 'c', 'd' };
	signed char small = -5;
	unsigned char byte = 200;
	wchar_t wide[] = L"wide \u00e9";
	char16_t sixteen[] = u"sixteen";
	char32_t thirtytwo[] = U"thirtytwo";
	wchar_t wc = L'w';
	char16_t c16 = u'x';
	char32_t c32 = U'y';
	const wchar_t *pw = wide;
	enum mode rw = READ | WRITE, none = 0, unknown = 9, all = ALL;
	enum gaps g1 = LOW | HIGH, g2 = TWO, g3 = 0x40;
	enum sign minus = MINUS, odd = 5;
	enum big huge = HUGE_ONE;
	struct bits b = { 5, -3, 123456789012ull, 1, EXEC, -1 };
	union number u = { .f = 1.5f };
	struct flexible *flex = malloc(sizeof *flex + 3 * sizeof(double));
	struct zero z = { 3 };
	nested_t ne = { { 1, { 2 } }, { 1, 2, 3, 0, READ, 1 }, { 7 }, twice };
	double _Complex dc = 1.5 + 2.5 * I;
	float _Complex fc = -1.0f + 0.5f * I;
	__int128 i128 = ((__int128)1 << 100) + 7, m128 = -5;
	unsigned __int128 u128 = ~(unsigned __int128)0;
	_Float16 h = 1.5f16;
	_Float32 f32 = 2.5f32;
	_Float64 f64 = 3.5;
	_Float128 q = 1.25f128;
	__float128 qq = -7;
	long double ld;
	float fl = 3.25f;
	double d = -0.1;
	_Bool yes = 1;
	int *p = &x[2], **pp = &p, (*pa)[5] = &x;
	void *vp = x;
	struct bits *pb = &b;
	fn_t fn = twice;
	fn_t fns[2] = { twice, 0 };
	int count = 3;
	unsigned long ul = 1ul << 63;
	long long ll = -1;
	memset(&ld, 0, sizeof ld);
	ld = 2.25L;
	flex->n = 3;
	for (int i = 0; i < 3; i++)
		flex->d[i] = i + 0.5;
	for (int i = 0; i < n; i++)
		vla[i] = i * i, vlb[i][0] = i, vlb[i][1] = -i;
	counted();
	nothing();
	return /* stop */ printf("%d%d%d%d%d", x[0], grid[0][0], vla[0], vlb[0][0], (int)add(1, 2)) + hidden + text[0] + bytes[0] + small + byte + wide[0] + sixteen[0]
		+ thirtytwo[0] + wc + c16 + c32 + pw[0] + rw + none + unknown + all + g1 + g2 + g3 + minus + odd + (int)huge + same(b).a + u.i + z.n + ne.x + (int)creal(dc)
		+ (int)crealf(fc) + (int)i128 + (int)m128 + (int)u128 + (int)h + (int)f32 + (int)f64 + (int)q + (int)qq + (int)ld + (int)fl + (int)d + yes + **pp + (*pa)[0]
		+ (vp != 0) + pb->a + fn(1) + fns[0](2) + count + (int)ul + (int)ll;
}

int main(int argc, char **argv)
{
	return work(argc + 3, argv) == 0;
}
