//build: -O1 -fno-builtin
// Allocates, makes the file that it was told the name of, and waits for a signal.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *kept[3];

int main(int argc, char **argv)
{
	for (int i = 0; i < 3; i++)
		kept[i] = malloc(1000 * (i + 1));
	if (argc > 1)
		sleep(1);
	free(kept[0]);
	if (argc > 1) {
		close(creat(argv[1], 0600));
		pause();
	}
	puts("ready");
	return 0;
}
