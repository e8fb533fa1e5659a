/* Says whether it has the terminal, changes its mode, reads a line, says so. */
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

__attribute__((noinline)) void hit(int n) { __asm__ volatile("" : : "r"(n)); }

int main(void)
{
	struct termios t;
	char line[100];
	for (int i = 0; i < 2; i++) {
		tcgetattr(0, &t);
		printf("foreground %d echo %d\n", tcgetpgrp(0) == getpgrp(), (t.c_lflag & ECHO) != 0);
		fflush(stdout);
		t.c_lflag &= ~ECHO;
		tcsetattr(0, TCSANOW, &t);
		hit(i);
	}
	return fgets(line, sizeof line, stdin) && !strcmp(line, "hello\n") ? 7 : 1;
}
