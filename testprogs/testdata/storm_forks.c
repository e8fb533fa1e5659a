//build: -O1
// CHILDREN children, eight at a time, are forked by a thread that allocates
// while another one does; each child allocates, checks and exits.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_long mallocs, frees, wrong;
static atomic_int done;

__attribute__((noinline)) static int rounds(int n, unsigned seed)
{
	int bad = 0;
	for (int i = 0; i < n; i++) {
		size_t size = 30 + (seed + i) % 500;
		unsigned char *p = malloc(size);
		mallocs++;
		memset(p, seed + i, size);
		for (size_t k = 0; k < size; k++)
			bad |= p[k] != (unsigned char)(seed + i);
		free(p);
		frees++;
	}
	return bad;
}

static void *beside(void *arg)
{
	for (unsigned n = 0; !done; n++) {
		wrong += rounds(5, n);
		usleep(200);
	}
	return arg;
}

static int collect(void)
{
	int status = 0;
	if (wait(&status) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 7) {
		printf("child status %#x\n", status);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int children = argc > 1 ? atoi(argv[1]) : 50;
	pthread_t t;
	pthread_create(&t, NULL, beside, NULL);
	char *kept = malloc(3000);
	mallocs++;
	strcpy(kept, "kept");
	for (int n = 0; n < children; n++) {
		if (n >= 8)
			wrong += collect();
		pid_t child = fork();
		if (child < 0)
			return 2;
		if (child == 0) {
			int bad = rounds(20, n) || strcmp(kept, "kept") != 0;
			free(kept);
			_exit(bad ? 1 : 7);
		}
		wrong += rounds(2, n);
	}
	for (int n = 0; n < children && n < 8; n++)
		wrong += collect();
	done = 1;
	pthread_join(t, NULL);
	free(kept);
	frees++;
	printf("children %d wrong %ld\n", children, (long)wrong);
	printf("calls malloc %ld free %ld\n", (long)mallocs, (long)frees);
	return wrong != 0;
}
