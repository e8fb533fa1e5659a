// Runs itself again once, from a thread other than the first if an
// argument "thread" is given, as a file that only memory has if it is "memory"; each
// image allocates.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
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

static void copied(char *self)
{
	int file = open("/proc/self/exe", O_RDONLY), copy = memfd_create("image", MFD_CLOEXEC);
	char *args[] = {self, "second", NULL};
	while (sendfile(copy, file, NULL, 1 << 20) > 0)
		;
	fexecve(copy, args, environ);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "second") == 0) {
		work(4002);
		puts("second image");
		return 0;
	}
	work(4001);
	if (argc > 1 && strcmp(argv[1], "memory") == 0)
		copied(argv[0]);
	if (argc > 1) {
		pthread_t t;
		pthread_create(&t, NULL, again, argv[0]);
		pthread_join(t, NULL);
	}
	again(argv[0]);
	return 1;
}
