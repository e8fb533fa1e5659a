// Dies of SIGABRT: glibc finds a block freed twice.
#include <stdlib.h>

int main(void)
{
	char *volatile p = malloc(40);
	free(p);
	free(p);
	return 0;
}
