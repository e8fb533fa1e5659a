/* Two threads with variables of the program, of a library, and of one that is loaded
   late and first used after the stop. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
__thread int main_tls = 11;
int early(int);
static void *run(void *p) {
  int (*late)(int) = p;
  main_tls = 12;
  int r = early(100);
  puts("stop");
  r += late(1000);
  puts("stop");
  return (void *)(long)r;
}
int main(void) {
  void *h = dlopen(LATE, RTLD_NOW);
  int (*late)(int) = dlsym(h, "late");
  early(1);
  late(10);
  pthread_t t;
  pthread_create(&t, 0, run, (void *)late);
  pthread_join(t, 0);
  return 0;
}
