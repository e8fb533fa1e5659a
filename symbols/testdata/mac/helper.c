int table[3] = {1, 2, 3};
static inline __attribute__((always_inline)) int cube(int x) { return x * x * x + table[x % 3]; }
static __attribute__((noinline)) int local(int a) { return cube(a) * 5; }
int helper(int a) { return local(a) - cube(a + 1); }
int unused(int a) { return a * 7; }
