// A thread that may not read the time stamp counter allocates and frees 400 blocks.
// Arguments: "tsc" disables the counter (PR_SET_TSC), "strict" enters strict seccomp,
// in which all system calls but read, write, exit and sigreturn end the process, too;
// then "main" or "thread", which of them does it. With a third argument it says that it
// is ready first, and waits for its input to end.

#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *how;

static void say(const char *text) {
  if (write(1, text, strlen(text)) < 0)
    syscall(SYS_exit, 2);
}

// Two call sites, the second of which nobody has seen before.
static void *__attribute__((noinline)) take(int n) { return malloc(n); }

static void *work(void *arg) {
  if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0)
    return NULL;
  if (strcmp(how, "strict") == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) != 0)
    return NULL;
  for (int i = 0; i < 200; i++) {
    char *p = malloc(1001);
    char *q = take(1002);
    p[0] = q[0] = 1;
    free(p);
    free(q);
  }
  say("wrong 0\n");
  if (strcmp(how, "strict") == 0)
    syscall(SYS_exit, 0); // exit_group is not allowed
  return arg;
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 1;
  how = argv[1];
  mallopt(M_ARENA_MAX, 1);
  free(malloc(100000)); // there is room for all
  if (argc > 3) {
    printf("ready %d\n", getpid());
    fflush(stdout);
    char c;
    while (read(0, &c, 1) > 0)
      ;
  }
  if (strcmp(argv[2], "main") == 0) {
    work(NULL);
    _exit(0);
  }
  pthread_t t;
  if (pthread_create(&t, NULL, work, NULL) != 0)
    return 1;
  pthread_join(t, NULL);
  return 0;
}
