/* A child of fork ends while its parent writes a global. */
#include <sys/wait.h>
#include <unistd.h>

long watched;

int main(void)
{
	int st;
	pid_t pid = fork();
	if (pid == 0)
		_exit(3);
	watched = 1;
	return waitpid(pid, &st, 0) == pid && WEXITSTATUS(st) == 3 ? 7 : 1;
}
