// A library that regions.c opens: variables, a function, and thread-local storage that the
// dynamic linker takes from malloc.
#include <stddef.h>

static _Thread_local char local[3000];
int library_data = 3;
int library_bss[2000];

char *library_local(void)
{
        local[5] = 1;
        return local + 5;
}
