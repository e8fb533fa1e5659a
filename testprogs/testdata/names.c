// Names that would change the colour of the terminal, set its title or fake
// a line of output if they were printed as they are: of a function, of a
// source file and of a thread.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

void *named(size_t n) __asm__("\"evil\033[31m\033]0;title\007name\"");

int main(void)
{
	pthread_setname_np(pthread_self(), "red\033[31m\nx");
	void *p = named(123456);
	printf("%s\n", p ? "ok" : "null");
	free(p);
	return 0;
}

#line 1 "bad\033[2Jfile.c"
__attribute__((noinline)) void *named(size_t n)
{
	return malloc(n);
}
