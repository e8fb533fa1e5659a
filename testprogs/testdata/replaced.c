//build: -O0 -g -Wl,-rpath,$ORIGIN -ldl
//also: libreplacedone.so replaced.c -shared -fPIC -O0 -g -DONE
//also: libreplacedtwo.so replaced.c -shared -fPIC -O0 -g -DTWO
//also: replacedby replaced.c -O0 -g -DTWO -DPROGRAM
//also: replacedfirst replaced.c -O0 -g -DONE -DPROGRAM
// Other code comes to lie at the same addresses: two libraries of the same layout, loaded and
// unloaded in turns. With an argument it runs a program that does as much, and which runs
// another one of the same layout. What lose_one and lose_two have lost is its book.
#include <dlfcn.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined ONE || defined TWO

#ifdef ONE
#define SIZE 800
#define lose lose_one
#else
#define SIZE 803
#define lose lose_two
#endif

__attribute__((noinline)) void lose(int n)
{
	char *volatile p = malloc(SIZE + n);
	p[0] = 1;
	p = 0;
}

#ifdef PROGRAM

int main(int argc, char **argv)
{
	for (int n = 0; n < 10; n++)
		lose(n);
	if (argc > 1)
		execl(argv[1], argv[1], NULL);
	puts("one 8045 in 10, two 8075 in 10");
	return 0;
}

#endif
#else

static void use(const char *library, const char *function, int n)
{
	void *h = dlopen(library, RTLD_NOW);
	((void (*)(int))dlsym(h, function))(n);
	dlclose(h);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		char first[4096], second[4096], *dir = dirname(argv[0]);
		snprintf(first, sizeof first, "%s/replacedfirst", dir);
		snprintf(second, sizeof second, "%s/replacedby", dir);
		execl(first, first, second, NULL);
		return 1;
	}
	const char *libraries[] = {"libreplacedone.so", "libreplacedtwo.so"};
	const char *functions[] = {"lose_one", "lose_two"};
	for (int n = 0; n < 20; n++)
		use(libraries[n % 2], functions[n % 2], n / 2);
	puts("one 8045 in 10, two 8075 in 10");
	return 0;
}

#endif
