//build: -Wl,-rpath,$ORIGIN -ldl
//also: libscale.so thumbnails_scale.c -shared -fPIC
// Makes thumbnails with a library that it opens for each picture, and closes.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 640, HEIGHT = 480 };

typedef unsigned char *scale_function(const unsigned char *picture, int width, int height, int divisor);

static int make(const unsigned char *picture)
{
	void *library = dlopen("libscale.so", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	scale_function *scale = (scale_function *)dlsym(library, "scale");
	for (int divisor = 2; divisor <= 8; divisor *= 2) {
		unsigned char *thumbnail = scale(picture, WIDTH, HEIGHT, divisor);
		free(thumbnail);
	}
	return dlclose(library);
}

int main(void)
{
	unsigned char *picture = calloc(WIDTH, HEIGHT);
	int failed = 0;
	for (int i = 0; i < 20; i++)
		failed |= make(picture);
	free(picture);
	puts("20 pictures");
	return failed;
}
