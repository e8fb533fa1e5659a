// A vfork child allocates in its parent's memory before it runs true(1).
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	int status = 0;
	void *before = malloc(2000);
	pid_t child = vfork();
	if (child == 0) {
		free(malloc(2001));
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
	void *after = malloc(2002);
	printf("status %d %s\n", status, before && after ? "ok" : "null");
	free(after);
	free(before);
	return 0;
}
