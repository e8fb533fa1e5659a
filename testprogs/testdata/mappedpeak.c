// The peak of this program is 20 MiB that open_region maps, and 300 KiB of the heap; all of it is given back.
#include <stdlib.h>
#include <sys/mman.h>

enum { REGIONS = 20, SIZE = 1 << 20 };

static void *regions[REGIONS];

static void *open_region(size_t size)
{
        return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void keep(void)
{
        for (int i = 0; i < REGIONS; i++)
                regions[i] = open_region(SIZE);
}

int main(void)
{
        char *volatile early = malloc(900 << 10); // the peak of the heap alone
        free(early);
        char *volatile block = malloc(300 << 10);
        keep();
        free(block);
        for (int i = 0; i < REGIONS; i++)
                munmap(regions[i], SIZE);
        return 0;
}
