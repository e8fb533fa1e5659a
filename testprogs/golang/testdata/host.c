/* A program of C that calls go_main of a library of Go: of the file that it is given, or, built with
   ARCHIVE, of the archive that it is linked with. */
#include <dlfcn.h>
#include <stdio.h>

#ifdef ARCHIVE
extern void go_main(void);
#endif

int main(int argc, char **argv)
{
#ifdef ARCHIVE
	go_main();
#else
	void *library = dlopen(argv[1], RTLD_NOW);
	void (*go_main)(void) = library ? (void (*)(void))dlsym(library, "go_main") : NULL;
	if (go_main == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	go_main();
#endif
	return 0;
}
