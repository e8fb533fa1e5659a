// Blocks that begin with the size that was asked for, and are held behind it, as by sqlite's allocator. No two are of one size class.
#include <stdint.h>
#include <stdlib.h>

static void *held[10];

__attribute__((noinline)) static void *sized(uint64_t n) {
    uint64_t *p = malloc(n + sizeof n);
    *p = n;
    return p + 1;
}

__attribute__((noinline)) void done(void) { __asm__ volatile(""); }

int main(void) {
    for (int i = 0; i < 10; i++)
        held[i] = sized(100 + 21 * i);
    done();
    return 0;
}
