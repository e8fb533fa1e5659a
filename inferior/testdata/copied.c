// A program whose memory is copied: it counts in pages of its own, and would see
// whatever a copy does to it. Arguments: threads, MiB, rounds, which are as many as it
// takes to SIGUSR1 if they are 0, and what it has that forbids copies: userfaultfd or seccomp.

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

unsigned long *pages, count, kept;
size_t npages;
unsigned long *hidden; // children do not have it
unsigned long *shared; // 64 MiB, of which two pages have been written to

static atomic_int children, wrong, enough;
static atomic_long waits;

__attribute__((noinline)) void hit(void) { __asm__ volatile("" ::: "memory"); }

static void child_ended(int sig)
{
	(void)sig;
	children++;
}

static void told(int sig)
{
	(void)sig;
	enough = 1;
}

// waiter waits for any child, of which there is none.
static void *waiter(void *arg)
{
	(void)arg;
	for (;;) {
		int status;
		pid_t pid = waitpid(-1, &status, waits % 2 ? WNOHANG : 0);
		if (pid != -1 || errno != ECHILD)
			wrong++;
		siginfo_t info;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) != -1 || errno != ECHILD)
			wrong++;
		waits++;
	}
	return 0;
}

static void *counter(void *arg)
{
	(void)arg;
	for (volatile unsigned long n = 0;; n++)
		;
	return 0;
}

static int forbid(const char *how)
{
	if (strcmp(how, "userfaultfd") == 0)
		return syscall(SYS_userfaultfd, 1) < 0; // UFFD_USER_MODE_ONLY
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog all = {1, &allow};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	npages = (argc > 2 ? atoi(argv[2]) : 1) * 256ul;
	int rounds = argc > 3 ? atoi(argv[3]) : 3;
	pages = mmap(0, npages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(pages, npages * 4096, MADV_NOHUGEPAGE);
	hidden = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(hidden, 4096, MADV_DONTFORK);
	hidden[0] = 42;
	shared = mmap(0, 64 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	shared[0] = shared[512 * 100] = 1;
	if (argc > 4 && forbid(argv[4]))
		return 3;
	signal(SIGCHLD, child_ended);
	signal(SIGUSR1, told);
	for (int i = 0; i < threads; i++) {
		pthread_t t;
		pthread_create(&t, 0, i % 2 ? counter : waiter, 0);
	}
	int pipes[2];
	if (pipe(pipes))
		return 2;
	if (!rounds) {
		printf("ready\n");
		fflush(stdout);
	}
	for (int r = 0; rounds ? r < rounds : !enough; r++) {
		count++;
		for (size_t i = 0; i < npages; i++) {
			if (pages[i * 512] != count - 1)
				wrong++;
			pages[i * 512] = count;
		}
		hit();
	}
	// Nobody else has the pipe open.
	char c;
	close(pipes[1]);
	if (read(pipes[0], &c, 1) != 0)
		wrong++;
	if (threads)
		while (waits < 100)
			usleep(1000);
	printf("children %d wrong %d count %lu\n", children, wrong, count);
	return children || wrong ? 1 : 7;
}
