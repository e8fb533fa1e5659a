#include <stdio.h>
#include <stdlib.h>
struct pair { long a, b; };
__attribute__((noinline)) static int leaf(int a, struct pair p, int unused) { volatile int v = a; printf("%d\n", v); int sum = a + (int)p.a; v = sum; puts("x"); return v; }
static inline int inl(int q, int *r) { int twice = q * 2; *r = twice; puts("inl"); return twice + 1; }
__attribute__((noinline)) int mid(int n, double d) { struct pair p = { n, 2 * n }; int *heap = malloc(40); for (int i = 0; i < 10; i++) heap[i] = i; int z; int k = inl(n, &z); int r = leaf(n + 1, p, 3); free(heap); return r + k + (int)d; }
int main(int argc, char **argv) { int r = mid(argc + 41, 2.5); printf("%d\n", r); return 0; }
