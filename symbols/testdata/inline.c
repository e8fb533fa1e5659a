#include <stdio.h>
#include <stdlib.h>
static inline int sq(int x) { return x * x + rand(); }
static inline int twice(int x) {
    int r = sq(x);
    return r + sq(r);
}
__attribute__((noinline)) int work(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += twice(i);
    return sum;
}
int main(int argc, char **argv) {
    printf("%d\n", work(argc));
    return 0;
}
