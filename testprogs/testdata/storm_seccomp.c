//build: -O1 -fno-builtin
// A filter kills the process at memfd_create, at mmap and mprotect of
// executable memory, and at ptrace. Then the program allocates: at once
// ("here"), after it has executed itself ("exec", in a static program: a
// dynamic linker maps code), or until standard input ends ("wait").
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IS(n, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, n, yes, no)
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)

static long mallocs, frees, wrong;

static int confine(void)
{
	struct sock_filter code[] = {
		LOAD(nr),
		IS(SYS_memfd_create, 6, 0),
		IS(SYS_ptrace, 5, 0),
		IS(SYS_mmap, 1, 0),
		IS(SYS_mprotect, 0, 2),
		LOAD(args[2]),
		HAS(PROT_EXEC, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

__attribute__((noinline)) static void allocate(int n)
{
	for (int i = 0; i < n; i++) {
		char *p = malloc(150 + i % 50);
		mallocs++;
		memset(p, i, 150 + i % 50);
		wrong += p[149 + i % 50] != (char)i;
		free(p);
		frees++;
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "here";
	int calls = argc > 2 ? atoi(argv[2]) : 100;
	if (strcmp(how, "exec") == 0) {
		if (confine() != 0)
			return 2;
		execl("/proc/self/exe", argv[0], "confined", argv[2], (char *)NULL);
		return 2;
	}
	if (strcmp(how, "confined") != 0 && confine() != 0)
		return 2;
	allocate(calls);
	if (strcmp(how, "wait") == 0) {
		printf("ready %d\n", (int)getpid());
		fflush(stdout);
		char c;
		while (read(0, &c, 1) > 0)
			allocate(calls);
	}
	printf("wrong %ld\n", wrong);
	printf("calls malloc %ld free %ld\n", mallocs, frees);
	return wrong != 0;
}
