// A main arena whose top is large: the program stops, goes on with malloc_trim, and says how many bytes of memory it has given
// back. `top sbrk` has moved the program break itself.
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long resident(void)
{
	static char b[1 << 16];
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	setvbuf(f, NULL, _IONBF, 0);
	b[fread(b, 1, sizeof b - 1, f)] = 0;
	fclose(f);
	char *p = strstr(b, "\nRss:");
	return p ? strtol(p + 5, NULL, 10) * 1024 : 0;
}

int main(int argc, char **argv)
{
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	mallopt(M_MMAP_THRESHOLD, 16 << 20);
	resident();
	volatile char *big = malloc(5500000);
	for (int i = 0; i < 5500000; i += 4096)
		big[i] = 1;
	free((void *)big);
	if (argc > 1 && strcmp(argv[1], "sbrk") == 0)
		sbrk(4096);
	puts("ready");
	fflush(stdout);
	raise(SIGSTOP);
	long before = resident();
	malloc_trim(0);
	printf("returned %ld\n", before - resident());
	fflush(stdout);
	pause();
}
