// Frames of a size that only the running program knows.
#include <alloca.h>
#include <string.h>

__attribute__((noinline)) int stop_here(char *p) { __asm__ volatile("" : : "r"(p) : "memory"); return p[0]; }

__attribute__((noinline)) int inner(int n)
{
	char *p = alloca(n);
	memset(p, n, n);
	return stop_here(p) + p[n - 1];
}

__attribute__((noinline)) int outer(int n)
{
	char a[n];
	memset(a, n, n);
	return inner(n * 3) + a[n / 2];
}

int main(int argc, char **argv) { return outer(argc * 1000 + 17) & 1; }
