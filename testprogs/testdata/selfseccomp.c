//build: -pthread
// A program confines itself by a seccomp filter, and then allocates. Arguments: what the filter kills the
// process for: "most" system calls, "waits" (futex and rt_sigprocmask) or "names" (gettid, getpid and
// tgkill); how it is installed: by "prctl", "syscall", for all threads ("tsync") or by a "raw" system call;
// then "some" blocks, "many", or in a "thread". With a fourth argument, a file, it says that it is ready and
// waits for the file first. It exits with 7.
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define IS(n, what) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, 0, 1), BPF_STMT(BPF_RET | BPF_K, what)
#define KILL SECCOMP_RET_KILL_PROCESS
#define ALLOW SECCOMP_RET_ALLOW

static struct sock_filter most[] = {
	LOAD, IS(SYS_write, ALLOW), IS(SYS_brk, ALLOW), IS(SYS_clock_nanosleep, ALLOW), IS(SYS_nanosleep, ALLOW), IS(SYS_exit_group, ALLOW),
	IS(SYS_getrandom, ALLOW), IS(SYS_rt_sigreturn, ALLOW), IS(SYS_restart_syscall, ALLOW), BPF_STMT(BPF_RET | BPF_K, KILL)};
static struct sock_filter waits[] = {LOAD, IS(SYS_futex, KILL), IS(SYS_rt_sigprocmask, KILL), BPF_STMT(BPF_RET | BPF_K, ALLOW)};
static struct sock_filter names[] = {
	LOAD, IS(SYS_gettid, KILL), IS(SYS_getpid, KILL), IS(SYS_tgkill, KILL), BPF_STMT(BPF_RET | BPF_K, ALLOW)};

static long raw(long nr, long a, long b, void *c)
{
	long v;
	__asm__ volatile("syscall" : "=a"(v) : "a"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return v;
}

static long confine(const char *what, const char *how)
{
#define FILTER(f) {sizeof f / sizeof *f, f}
	struct sock_fprog all[] = {FILTER(most), FILTER(waits), FILTER(names)};
	struct sock_fprog *p = &all[what[0] == 'm' ? 0 : what[0] == 'w' ? 1 : 2];
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	switch (how[0]) {
	case 'p':
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, p);
	case 's':
		return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, p);
	case 't':
		return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, p);
	}
	return raw(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, p);
}

static void *some(void *arg)
{
	for (int i = 0; i < 40; i++) {
		char *volatile b = malloc(5000 + i);
		b[0] = 1;
		usleep(1000);
	}
	return arg;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 1;
	free(malloc(300000)); // there is room for all
	if (argc > 4) {
		puts("ready");
		fflush(stdout);
		while (access(argv[4], F_OK) != 0)
			usleep(1000);
	}
	if (confine(argv[1], argv[2]) != 0)
		return 2;
	pthread_t t;
	switch (argv[3][0]) {
	case 's':
		some(NULL);
		break;
	case 'm':
		for (int i = 0; i < 3000000; i++) {
			char *volatile b = malloc(100);
			free(b);
		}
		break;
	case 't':
		if (pthread_create(&t, NULL, some, NULL) != 0 || pthread_join(t, NULL) != 0)
			return 3;
	}
	_exit(7);
}
