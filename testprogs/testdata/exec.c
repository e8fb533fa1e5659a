// Runs itself again once, from a thread other than the first if an
// argument "thread" is given; each image allocates.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((noinline)) static void work(size_t n)
{
	void *p = malloc(n);
	memset(p, 1, n);
	free(p);
}

static void *again(void *self)
{
	execl("/proc/self/exe", self, "second", (char *)NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "second") == 0) {
		work(4002);
		puts("second image");
		return 0;
	}
	work(4001);
	if (argc > 1) {
		pthread_t t;
		pthread_create(&t, NULL, again, argv[0]);
		pthread_join(t, NULL);
	}
	again(argv[0]);
	return 1;
}
