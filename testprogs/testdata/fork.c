// Parent and child both allocate; the child's answer is its exit status.
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) static int work(int n)
{
	int ok = 0;
	for (int i = 0; i < n; i++) {
		void *p = malloc(5000);
		ok += p != NULL;
		free(p);
	}
	return ok;
}

int main(void)
{
	pid_t child = fork();
	if (child < 0)
		return 1;
	if (child == 0)
		_exit(work(7));
	int status = 0;
	int own = work(11);
	waitpid(child, &status, 0);
	if (!WIFEXITED(status)) {
		printf("child died of signal %d\n", WTERMSIG(status));
		return 1;
	}
	printf("parent %d child %d\n", own, WEXITSTATUS(status));
	return 0;
}
