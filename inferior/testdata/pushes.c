/* Pushes and pops the flags around a system call, and forks by vfork. */
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	__asm__ volatile("pushfq\n\tpopfq\n\tpushfw\n\tpopfw" : : : "cc", "memory");
	pid_t child = vfork();
	if (child == 0)
		_exit(7);
	int status = 0;
	waitpid(child, &status, 0);
	long flags;
	__asm__ volatile("pushfq\n\tpop %0" : "=r"(flags) : : "memory");
	return flags & 0x100 ? 1 : WEXITSTATUS(status);
}
