// Calls in unusual places: through a lazy PLT, from libc back to the program, as
// the last instruction of a function, and instead of a return.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noinline)) void stop_here(void) { __asm__ volatile("" ::: "memory"); }

static int compare(const void *a, const void *b)
{
	stop_here();
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline, noreturn)) void die(int code)
{
	stop_here();
	exit(code);
}

__attribute__((noinline)) int checked(int n)
{
	if (n < 100)
		die(n - 1); // the call is the last instruction: its return address is outside
	return n;
}

__attribute__((noinline)) int tail(int n) { stop_here(); return n + 1; }
__attribute__((noinline)) int tailcaller(int n) { return tail(n * 3); }

__attribute__((noinline)) void at_exit(void) { stop_here(); }

int main(int argc, char **argv)
{
	int v[] = {5, 3, 9, 1, 7};
	struct timespec t;
	atexit(at_exit);
	qsort(v, 5, sizeof v[0], compare);
	clock_gettime(CLOCK_MONOTONIC, &t);
	puts("through the PLT");
	int x = tailcaller(argc) + v[0];
	return checked(x % 50);
}
