// Allocates and gives back while children that ran in its memory have just gone: made by posix_spawn, and by vfork with exec
// and without.
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void *kept[40];

__attribute__((noinline)) static void *reply(size_t n)
{
	return malloc(n);
}

int main(void)
{
	char *args[] = {"true", NULL};
	for (int i = 0; i < 40; i++)
		kept[i] = malloc(9000 + i);
	for (int i = 0; i < 40; i++) {
		pid_t child = 0;
		if (i % 3 == 0) {
			if (posix_spawn(&child, "/bin/true", NULL, NULL, args, environ))
				return 1;
		} else if ((child = vfork()) == 0) {
			if (i % 3 == 1)
				execve("/bin/true", args, environ);
			_exit(0);
		}
		free(kept[i]);
		void *r = reply(500 + i);
		waitpid(child, NULL, 0);
		free(r);
	}
	return 0;
}
