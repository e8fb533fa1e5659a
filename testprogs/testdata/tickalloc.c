// A function whose name looks like a wrapper's, and which is none.
#include <stdlib.h>

static char *volatile kept;

void tick_alloc(void)
{
        kept = malloc(100);
}

int main(void)
{
        tick_alloc();
        free(kept);
        return 0;
}
