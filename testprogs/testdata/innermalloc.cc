// innermalloc: allocates three times each with realloc(NULL), malloc, new and calloc, of 100 to 402
// bytes. The C library's realloc(NULL) and operator new call malloc.
#include <cstdlib>

static void *volatile p, *volatile zero;

__attribute__((noinline)) static void grow(int n) { p = realloc(zero, n); }
__attribute__((noinline)) static void make(int n) { p = malloc(n); }
__attribute__((noinline)) static void make_new(int n) { p = new char[n]; }
__attribute__((noinline)) static void clear(int n) { p = calloc(1, n); }

int main() {
    for (int i = 0; i < 3; i++) {
        grow(100 + i);
        make(200 + i);
        make_new(300 + i);
        clear(400 + i);
    }
}
