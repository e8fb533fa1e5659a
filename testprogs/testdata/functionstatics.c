// Static variables of functions that have the same name, one of them inlined where it is optimized.
#include <stdio.h>

static int rounds(void)
{
        static int total = 3;
        static int only = 5;
        total += only++;
        return total;
}

int main(void)
{
        static int total = 40;
        volatile int local = 7;
        total += rounds();
        printf("%d\n", total + local);
        return local - 7;
}
