// Has its memory locked by a function that it looks for by its name: `sought FLAGS [child]`, in a child if that is asked for. It tells how many pages are in memory of a
// mapping that it made before, and of one that it made later, and frees a block twice.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGES = 64 };

static char *map(void) { return mmap(0, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

static int resident(char *at)
{
	unsigned char pages[PAGES];
	int n = 0;
	if (mincore(at, PAGES * 4096, pages))
		return -1;
	for (int i = 0; i < PAGES; i++)
		n += pages[i] & 1;
	return n;
}

int main(int argc, char **argv)
{
	char name[] = "mlock_all";
	name[5] = 'a', name[6] = 'l', name[7] = 'l', name[8] = 0;
	if (argc > 2 && fork())
		return wait(NULL) < 0;
	char *before = map();
	int failed = ((int (*)(int))dlsym(RTLD_DEFAULT, name))(atoi(argv[1]));
	char *later = map();
	printf("result %d, %d and %d pages\n", failed, resident(before), resident(later));
	fflush(stdout);
	char *volatile p = malloc(100);
	free(p);
	free(p);
	return 0;
}
