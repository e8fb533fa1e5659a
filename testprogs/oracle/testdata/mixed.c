/* What optimization does to variables of C: arguments that only callers know, pieces,
   pointers without an object, inlined calls, blocks, shadowed names, and values of every
   shape. */
#include <complex.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

enum color { RED = 1, GREEN, BLUE = -4 };
enum flags { NONE, READ = 1, WRITE = 2, EXEC = 4, ALL = 15 };
typedef float quad __attribute__((vector_size(16)));
typedef int pairs __attribute__((vector_size(8)));

struct bits { unsigned a : 3; int b : 5; unsigned long c : 40; bool d : 1; enum flags e : 4; };
struct point { int x, y; };
struct line { struct point from, to; const char *name; };
struct two { double re, im; };
struct mix { long n; double d; };
struct big { long v[6]; char text[24]; };
struct packed { char c; int i; short s; } __attribute__((packed));
union word { int i; float f; unsigned char b[4]; };
struct node { int key; struct node *left, *right; };

volatile long sink;
volatile double fsink;
__thread int mine = 5;
static __thread struct point local_point = {1, 2};
static enum flags mode = READ | EXEC;
int table[4][3];

APART static void observe(long v) { sink += v; }
APART static void fobserve(double v) { fsink += v; }

/* Arguments that are dead behind the call. */
APART static int dead(int first, long second, const char *third, double fourth, struct point fifth)
{
	observe(first + second);
	fobserve(fourth + third[0] + fifth.x);
	observe(1);
	return sink & 1;
}

APART static int changed(int n, unsigned m, char *s)
{
	n *= 3;
	observe(n);
	m ^= n;
	s += m & 1;
	observe(*s);
	n = m;
	observe(n);
	return n;
}

static inline int weigh(const struct point *p, int factor)
{
	int weight = p->x * factor;
	observe(weight);
	int rest = p->y - factor;
	observe(rest);
	return weight + rest;
}

/* An object that is nowhere, and a pointer to it. */
APART static int nowhere(int n)
{
	struct point p = {n, n + 7};
	struct line l = {{n * 2, 4}, {5, n}, "nowhere"};
	int sum = weigh(&p, 3);
	observe(sum);
	sum += weigh(&l.to, n);
	observe(l.from.x);
	return sum;
}

APART static long taken(struct mix m, struct two t, struct big b, struct packed p)
{
	struct mix copy = m;
	struct two other = {t.im, t.re * 2};
	copy.n += b.v[2] + p.i;
	observe(copy.n);
	fobserve(other.re + copy.d);
	b.v[0] = copy.n;
	observe(b.v[0] + b.text[1]);
	return copy.n + other.im + p.s;
}

APART static int shadows(int x)
{
	int total = 0;
	for (int i = 0; i < x; i++) {
		int x = i * 2;
		observe(x);
		{
			long i = x + 5;
			double x = i * 0.5;
			fobserve(x);
			total += i;
		}
		total += x;
	}
	for (unsigned i = 3; i > 0; i--) {
		char x = 'a' + i;
		observe(x);
	}
	observe(total);
	return total;
}

APART static long sized(int n, int m)
{
	int row[n];
	char grid[m][n];
	for (int i = 0; i < n; i++) {
		row[i] = i * i;
		for (int j = 0; j < m; j++)
			grid[j][i] = 'a' + i + j;
	}
	observe(row[n - 1]);
	long sum = 0;
	for (int i = 0; i < n; i++)
		sum += row[i] + grid[m - 1][i];
	observe(sum);
	return sum;
}

APART static int kinds(int n, enum color c, enum flags f, bool yes, signed char sc, unsigned char uc, short s)
{
	struct bits b = {n, -n, 1ul << 33 | n, yes, f};
	union word w = {.f = n * 1.5f};
	char repeated[32] = "abc";
	char zeros[40] = {0};
	unsigned char bytes[6] = {1, 2, 255, n, 0, 7};
	wchar_t wide[4] = L"wx";
	const char *text = "a \"quoted\"\ttext\n";
	enum flags set = READ | WRITE | (n & 4), odd = 64 + n;
	__int128 huge = (__int128)n << 70;
	void (*fn)(long) = observe;
	static int calls;
	static struct point kept = {3, 4};
	static const char *const names[] = {"red", "green", NULL};
	memset(repeated + 3, 'z', 20);
	calls++;
	kept.x += n;
	observe((long)&b + (long)&w);
	observe((long)repeated + (long)zeros + (long)bytes + (long)wide);
	fn(text[n & 3] + (long)(huge >> 70));
	observe(set + odd + c + sc + uc + s);
	mine += n;
	local_point.x += n;
	observe((long)names[n & 1] + b.c + w.i + mine);
	return calls + kept.x + bytes[n & 3] + zeros[n & 7];
}

APART static double floats(float f, double d, long double ld, float complex fc, double complex dc)
{
	quad q = {f, f * 2, f * 3, f * 4};
	pairs p = {(int)f, (int)d};
	float inf = f / 0.0f;
	double minus = -d, nan = __builtin_nan("");
	double few[3] = {f, d, 1e300};
	long double wider = ld * 3;
	fobserve(q[1] + p[0]);
	fobserve(few[(int)f & 1] + inf);
	fobserve((double)wider + crealf(fc) + cimag(dc));
	q *= q;
	fobserve(q[3] + minus + nan);
	fobserve((long)few);
	return wider + d;
}

APART static struct node *insert(struct node *tree, int key)
{
	if (!tree) {
		struct node *made = calloc(1, sizeof *made);
		made->key = key;
		observe(key);
		return made;
	}
	if (key < tree->key)
		tree->left = insert(tree->left, key);
	else
		tree->right = insert(tree->right, key);
	return tree;
}

APART static int sum_tree(const struct node *tree, int depth)
{
	if (!tree)
		return depth;
	int left = sum_tree(tree->left, depth + 1);
	int right = sum_tree(tree->right, depth + 1);
	return left + right + tree->key;
}

static int by_key(const void *a, const void *b)
{
	const int *left = a, *right = b;
	int order = *left - *right;
	observe(order);
	return order;
}

APART static int sorted(int n)
{
	int keys[8];
	for (int i = 0; i < 8; i++)
		keys[i] = (i * 37 + n) % 11;
	qsort(keys, 8, sizeof keys[0], by_key);
	observe(keys[3]);
	return keys[7];
}

APART static int last(int a, int b)
{
	observe(a - b);
	return a * b;
}
APART static int passes(int a, int b)
{
	observe(a);
	return last(b + 1, a);
}

/* Many registers that functions keep. */
APART static long busy(long a, long b, long c, long d, long e, long f, long g, long h)
{
	long i = a * b, j = c * d, k = e * f, l = g * h;
	for (int n = 0; n < 3; n++) {
		observe(i + n);
		j += i ^ k;
		k += l * n;
		observe(j);
		l -= k & h;
		i += a - g;
	}
	return i + j + k + l + b + c + d + e + f;
}

static jmp_buf back;
APART static int jumps(int n)
{
	volatile int tries = 0;
	if (setjmp(back) < n) {
		tries = tries + 1;
		observe(tries);
		longjmp(back, tries);
	}
	return tries;
}

static inline __attribute__((always_inline)) int innermost(int v, struct point at)
{
	static int count;
	int twice = v * 2 + at.y;
	count++;
	observe(twice + count);
	return twice;
}
static inline __attribute__((always_inline)) int middle(int v, int *out)
{
	struct point at = {v, 9};
	int got = innermost(v + 1, at);
	*out = got;
	observe(got);
	return got + innermost(v + 2, (struct point){4, v});
}
APART static int outer(int v)
{
	int result;
	int sum = middle(v, &result);
	observe(result);
	return sum + result;
}

APART static int run(int argc, char **argv)
{
	struct big b = {{1, 2, 3, 4, 5, argc}, "some text"};
	struct packed p = {'c', 70000 + argc, -3};
	char text[] = "argument";
	struct node *tree = NULL;
	long sum = 0;
	for (int round = 0; round < 3; round++) {
		sum += dead(round, 5000000000L + argc, "third", 1.25 * argc, (struct point){round, 8});
		sum += changed(round + 4, 17, text);
		sum += nowhere(round + argc);
		sum += taken((struct mix){round, 2.5}, (struct two){argc, 0.5}, b, p);
		sum += shadows(round + 2);
		sum += sized(round + 3, 2);
		sum += kinds(round + 3, round == 1 ? BLUE : GREEN, mode, round & 1, -round, 200 + round, -300);
		sum += floats(1.5f + round, 2.25, 3.125L, 1.0f + 2.0f * I, 3.0 - 4.0 * I * round);
		for (int i = 0; i < 5; i++)
			tree = insert(tree, (i * 7 + round) % 10);
		sum += sum_tree(tree, 0);
		sum += sorted(round);
		sum += passes(round, 6);
		sum += busy(1, 2, 3, 4, 5, 6, 7 + argc, 8 + round);
		sum += jumps(round);
		sum += outer(round + argc);
		table[round][1] = sum;
		mode = mode << 1 & ALL;
	}
	return sum != 0;
}

/* What the loader left on the stack is random. */
APART static int cleared(void)
{
	volatile char all[32768];
	for (unsigned i = 0; i < sizeof all; i++)
		all[i] = 0;
	return all[5];
}

int main(int argc, char **argv)
{
	int n = cleared();
	n += run(argc, argv);
	printf("%d\n", n);
	return 0;
}
