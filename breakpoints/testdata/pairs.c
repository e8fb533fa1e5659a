// Allocates and frees as often as its argument says; with a second one it says
// when it runs and waits for a byte before.
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
	char c = '.';
	if (argc > 2 && (write(1, &c, 1) != 1 || read(0, &c, 1) != 1)) return 1;
	for (long n = atol(argv[1]); n > 0; n--) free(malloc(n % 1000 + 1));
	return 0;
}
