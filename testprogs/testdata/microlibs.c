//build: -O2 -Wl,--no-as-needed -l:libm.so.6 -l:libstdc++.so.6 -l:libgcc_s.so.1 -l:libz.so.1 -l:liblzma.so.5 -l:libxml2.so.2 -l:libsqlite3.so.0 -l:libexpat.so.1
// How long a launch takes: linked with ten libraries (two come with libxml2)
// beside libc, it prints the time at which main began, on the clock that
// counts from boot.
#include <stdio.h>
#include <time.h>

int main(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	printf("main_ns %ld\n", t.tv_sec * 1000000000L + t.tv_nsec);
	return 0;
}
