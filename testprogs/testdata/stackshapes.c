//build: -O2 -fomit-frame-pointer
// Stacks that a frame-pointer walk gets wrong: alloca, realigned stacks, a
// frame larger than a page, a tail call, a variable-length array; main
// calls them all and each allocates a size of its own.
#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile long sink;

#define NOINLINE __attribute__((noinline, noclone))

NOINLINE static void allocate(size_t n)
{
	char *p = malloc(n);
	memset(p, 1, n);
	sink += p[n / 2];
	free(p);
	sink++; // keeps the calls of allocate from being jumps
}

NOINLINE static void with_alloca(int n)
{
	char *a = alloca(n);
	memset(a, 2, n);
	allocate(3001);
	sink += a[n - 1];
}

NOINLINE static void realigned(int n)
{
	char a[256] __attribute__((aligned(64)));
	memset(a, n, sizeof a);
	allocate(3002);
	sink += a[n] + ((uintptr_t)a & 63);
}

NOINLINE static void realigned_alloca(int n)
{
	char a[256] __attribute__((aligned(64)));
	char *b = alloca(n);
	memset(a, n, sizeof a);
	memset(b, n, n);
	allocate(3003);
	sink += a[n] + b[n / 2];
}

NOINLINE static void large_frame(int n)
{
	char a[20000];
	memset(a, n, sizeof a);
	allocate(3004);
	sink += a[n * 7];
}

NOINLINE static void tail_called(size_t n)
{
	allocate(n);
	sink++;
}

NOINLINE static void tail_call(size_t n)
{
	sink++;
	tail_called(n + 1); // a jump: this frame is not on the stack
}

NOINLINE static void with_vla(int n)
{
	long a[n];
	for (int i = 0; i < n; i++)
		a[i] = i;
	allocate(3006);
	sink += a[n - 1];
}

NOINLINE static void many_registers(long a, long b, long c, long d, long e, long f, long g, long h)
{
	allocate(3007);
	sink += a * b + c * d + e * f + g * h;
	allocate(3008);
	sink += a + b * c + d * e + f * g + h;
}

int main(void)
{
	with_alloca(100);
	realigned(3);
	realigned_alloca(40);
	large_frame(5);
	tail_call(3004);
	with_vla(33);
	many_registers(1, 2, 3, 4, 5, 6, 7, 8);
	printf("%d\n", sink > 0);
	return 0;
}
