//build: -O1 -fno-builtin
// Loads a library, and the C library that it brings, into a namespace of its own and
// unloads both, ROUNDS times, while THREADS threads allocate, PAUSE microseconds after
// each fifty calls. With "apart" they never come to the same addresses. Arguments:
// rounds, threads, pause, apart.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_long mallocs, frees, wrong;
static atomic_int done;
static int wait_us;

static void *beside(void *arg)
{
	char fill = (char)(long)arg;
	char *kept[16] = {0};
	size_t size[16];
	unsigned n = 0;
	for (; !done; n++) {
		unsigned i = n % 16;
		if (kept[i]) {
			wrong += kept[i][size[i] - 1] != fill;
			free(kept[i]);
			frees++;
		}
		size[i] = 16 + n * 37 % 2000;
		kept[i] = malloc(size[i]);
		memset(kept[i], fill, size[i]);
		if (wait_us && n % 50 == 49)
			usleep(wait_us);
	}
	mallocs += n;
	for (int i = 0; i < 16; i++)
		if (kept[i]) {
			free(kept[i]);
			frees++;
		}
	return NULL;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 12, threads = argc > 2 ? atoi(argv[2]) : 3;
	wait_us = argc > 3 ? atoi(argv[3]) : 0;
	pthread_t t[16];
	for (long i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, beside, (void *)(i + 1));
	for (int i = 0; i < rounds; i++) {
		Lmid_t space;
		if (argc > 4)
			mmap(NULL, 4 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		void *z = dlmopen(LM_ID_NEWLM, "libz.so.1", RTLD_NOW);
		void *c = !z || dlinfo(z, RTLD_DI_LMID, &space) ? NULL : dlmopen(space, "libc.so.6", RTLD_NOW);
		if (!c) {
			printf("%s\n", dlerror());
			return 1;
		}
		char *(*make)(size_t) = (char *(*)(size_t))dlsym(c, "malloc");
		void (*release)(void *) = (void (*)(void *))dlsym(c, "free");
		char *p = make(1000);
		memset(p, i, 1000);
		release(p);
		mallocs++;
		frees++;
		dlclose(c);
		dlclose(z);
	}
	done = 1;
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("rounds %d wrong %ld\n", rounds, (long)wrong);
	printf("calls malloc %ld free %ld\n", (long)mallocs, (long)frees);
	return wrong != 0;
}
