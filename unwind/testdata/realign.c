// Stacks realigned to 64 bytes: gcc finds the caller's frame through a saved
// pointer (DRAP), which CFI describes by expressions.
#include <alloca.h>
#include <string.h>

__attribute__((noinline)) int stop_here(void *p) { __asm__ volatile("" : : "r"(p) : "memory"); return 1; }

__attribute__((noinline)) int inner(int n, int a, int b, int c, int d, int e, int on_stack)
{
	__attribute__((aligned(64))) char v[128];
	char *p = alloca(n);
	memset(v, n, sizeof v);
	memset(p, a, n);
	return stop_here(v) + stop_here(p) + v[n & 127] + p[0] + b + c + d + e + on_stack;
}

__attribute__((noinline)) int outer(int n)
{
	__attribute__((aligned(64))) double w[16];
	for (int i = 0; i < 16; i++)
		w[i] = n * i;
	return stop_here(w) + inner(n, 1, 2, 3, 4, 5, 6) + (int)w[n & 15];
}

int main(int argc, char **argv) { return outer(argc * 40) & 1; }
