/* A program of C that loads libraries of Go, one after the other, and has each make 4,000 blocks. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		if (library == NULL) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		long (*work)(long) = (long (*)(long))dlsym(library, "Work");
		printf("%ld\n", work(4000));
	}
	return 0;
}
