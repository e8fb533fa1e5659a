// Makes 20 children one after the other by clone with CLONE_UNTRACED, of which the kernel
// tells no debugger. Each allocates a block and calls hit. Prints how many have died.

#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void __attribute__((noinline)) hit(void) { __asm__ volatile(""); }

static int child(void *arg) {
  free(malloc(1001));
  hit();
  _exit(0);
}

int main(void) {
  static char stack[1 << 16] __attribute__((aligned(16)));
  int died = 0;
  hit();
  for (int i = 0; i < 20; i++) {
    int status = 0;
    pid_t pid = clone(child, stack + sizeof stack, CLONE_UNTRACED | SIGCHLD, NULL);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
      died++;
  }
  printf("died %d\n", died);
  return 0;
}
