// Allocates and frees as often as its argument says.
#include <stdlib.h>

int main(int argc, char **argv) {
	for (long n = atol(argv[1]); n > 0; n--) free(malloc(n % 1000 + 1));
	return 0;
}
