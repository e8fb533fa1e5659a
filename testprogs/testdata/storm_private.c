//build: -O1 -fno-builtin
// A process that lets nobody look into it: after some calls it makes itself
// undumpable ("dumpable"), or another user ("user", for root only), and goes
// on. With "wait" as third argument it does until standard input ends.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static long mallocs, frees, wrong;

__attribute__((noinline)) static void allocate(int n)
{
	for (int i = 0; i < n; i++) {
		char *p = malloc(150 + i % 50);
		mallocs++;
		memset(p, i, 150 + i % 50);
		wrong += p[149 + i % 50] != (char)i;
		free(p);
		frees++;
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "dumpable";
	int calls = argc > 2 ? atoi(argv[2]) : 100;
	allocate(calls);
	if (strcmp(how, "user") == 0 ? setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534) : prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return 2;
	allocate(calls);
	if (argc > 3) {
		printf("ready %d\n", (int)getpid());
		fflush(stdout);
		char c;
		while (read(0, &c, 1) > 0)
			allocate(calls);
	}
	printf("dumpable %d wrong %ld\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), wrong);
	printf("calls malloc %ld free %ld\n", mallocs, frees);
	return wrong != 0;
}
