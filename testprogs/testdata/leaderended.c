// main() ends by pthread_exit. Another thread then goes on, and loads a plugin.
//build: -pthread
//also: libplugin.so plugin.c -shared -fPIC -O0 -g
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *held;
static char plugin[4096];

__attribute__((noinline)) static void lose(void)
{
	char *volatile p = malloc(4321);
	p = NULL;
}

__attribute__((noinline)) static void here(void)
{
	__asm__ volatile("");
}

/* wait_for_end returns when the first thread is a zombie. */
static void wait_for_end(void)
{
	char line[512], *end = NULL;
	for (;; usleep(1000)) {
		FILE *f = fopen("/proc/self/stat", "r");
		if (!f || !fgets(line, sizeof line, f) || !(end = strrchr(line, ')')))
			exit(2);
		fclose(f);
		if (end[2] == 'Z')
			return;
	}
}

static void *work(void *arg)
{
	wait_for_end();
	void *h = dlopen(plugin, RTLD_NOW);
	if (!h)
		exit(3);
	int (*run)(int) = (int (*)(int))dlsym(h, "plugin_run");
	run(7);
	lose();
	usleep(1); // the address in registers is gone
	here();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;
	held = malloc(555);
	snprintf(plugin, sizeof plugin, "%.*s/libplugin.so", (int)(strrchr(argv[0], '/') - argv[0]), argv[0]);
	pthread_create(&t, NULL, work, NULL);
	pthread_exit(NULL);
}
