//build: -Wl,-rpath,$ORIGIN -ldl
//also: libplugin.so plugin.c -shared -fPIC
// Loads a library that allocates when it is loaded, when it is called and
// when it is unloaded; twice.
#include <dlfcn.h>
#include <stdio.h>

int main(void)
{
	for (int i = 0; i < 2; i++) {
		void *h = dlopen("libplugin.so", RTLD_NOW);
		if (!h) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		int (*run)(int) = (int (*)(int))dlsym(h, "plugin_run");
		printf("plugin %d\n", run(i));
		dlclose(h);
	}
	return 0;
}
