/* Loads and unloads libm.so.6 argv[1] times, calling cos each time. */
#include <dlfcn.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[1]); i++) {
		void *m = dlopen("libm.so.6", RTLD_NOW);
		double (*cosine)(double) = (double (*)(double))dlsym(m, "cos");
		if (!m || !cosine || cosine(0) != 1)
			return 1;
		dlclose(m);
	}
	return 7;
}
