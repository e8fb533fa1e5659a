// Enters strict seccomp, in which all system calls but read, write, exit and sigreturn
// end a thread, and exits with 7.
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

void __attribute__((noinline)) hit(void) { __asm__ volatile(""); }

int main(void) {
  prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
  hit();
  syscall(SYS_exit, 7);
}
