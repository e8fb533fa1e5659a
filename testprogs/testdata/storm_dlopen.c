//build: -O1 -fno-builtin-malloc -Wl,-rpath,$ORIGIN
//also: libstormplugin.so storm_plugin.c -shared -fPIC
// A library is loaded and unloaded ROUNDS times while a second thread
// allocates; its constructor, a function of it and its destructor allocate.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_long mallocs, frees;
static atomic_int done;

static void *beside(void *arg)
{
	while (!done) {
		free(malloc(333));
		mallocs++;
		frees++;
		usleep(200);
	}
	return arg;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10, wrong = 0;
	pthread_t t;
	pthread_create(&t, NULL, beside, NULL);
	for (int i = 0; i < rounds; i++) {
		void *h = dlopen("libstormplugin.so", i % 2 ? RTLD_NOW : RTLD_LAZY);
		if (!h) {
			printf("%s\n", dlerror());
			return 1;
		}
		int (*run)(int) = (int (*)(int))dlsym(h, "plugin_run");
		wrong += run(5);
		free(malloc(222));
		mallocs += 1 + *(long *)dlsym(h, "plugin_mallocs");
		frees += 1 + *(long *)dlsym(h, "plugin_frees");
		dlclose(h);
		frees++; // by the destructor
	}
	done = 1;
	pthread_join(t, NULL);
	printf("rounds %d wrong %d\n", rounds, wrong);
	printf("calls malloc %ld free %ld\n", (long)mallocs, (long)frees);
	return wrong != 0;
}
