//build: -O1 -fno-builtin
// Memory runs out: under a limit on address space the program allocates until
// it gets no more, frees all, and does so ROUNDS times. With a number of MiB as
// second argument it executes itself under that limit first.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BLOCK = 200000 };

static long mallocs, frees, wrong;

static void limit(unsigned long bytes)
{
	struct rlimit l = {bytes, bytes};
	if (setrlimit(RLIMIT_AS, &l) != 0)
		perror("setrlimit");
}

// mapped is the size of the address space.
static unsigned long mapped(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	if (!f || fscanf(f, "%lu", &pages) != 1)
		exit(2);
	fclose(f);
	return pages * 4096;
}

struct link {
	struct link *next;
	char room[BLOCK - 8];
};

__attribute__((noinline)) static int exhaust(void)
{
	struct link *all = NULL, *l;
	int n = 0, failed = 0;
	while (failed < 3) {
		l = malloc(sizeof *l);
		mallocs++;
		if (!l) {
			failed++;
			continue;
		}
		memset(l->room, n, 100);
		l->next = all;
		all = l;
		n++;
	}
	for (int k = n; all; all = l) {
		k--;
		wrong += all->room[50] != (char)k;
		l = all->next;
		free(all);
		frees++;
	}
	return n;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 2;
	long mib = argc > 2 ? atol(argv[2]) : 0;
	if (mib > 0) {
		limit(mib << 20);
		execl("/proc/self/exe", argv[0], argv[1], "0", "limited", (char *)NULL);
		return 2;
	}
	if (argc <= 3)
		limit(mapped() + (20 << 20));
	int some = 1;
	for (int i = 0; i < rounds; i++)
		some &= exhaust() > 10;
	printf("%s wrong %ld\n", some ? "some" : "none", wrong);
	printf("calls malloc %ld free %ld\n", mallocs, frees);
	return wrong != 0;
}
