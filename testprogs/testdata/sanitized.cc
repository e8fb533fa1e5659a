// What each function of C and C++ hands out has a size of its own, and each is called
// 100 times in two threads. With an argument it says that it is ready first, and
// waits for its input to end. It is compiled with one of the sanitizers, which have
// functions of their own in place of the allocator's.

#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <unistd.h>

static const int rounds = 100;

// Keep has the compiler make each call.
template <class T> static T *keep(T *p) {
  asm volatile("" : "+r"(p) : : "memory");
  return p;
}

static void *work(void *) {
  for (int i = 0; i < rounds; i++) {
    void *a = keep(malloc(70001));
    void *b = keep(calloc(1, 70002));
    a = keep(realloc(a, 70003));
    void *c = nullptr;
    if (posix_memalign(&c, 64, 70004) != 0)
      abort();
    void *d = keep(aligned_alloc(64, 64 * 1100));
    char *e = keep(new char[70005]);
    void *f = keep(::operator new(70006));
    free(a);
    free(b);
    free(keep(c));
    free(d);
    delete[] e;
    ::operator delete(f);
  }
  return nullptr;
}

int main(int argc, char **) {
  if (argc > 1) {
    printf("ready %d\n", getpid());
    fflush(stdout);
    char c;
    while (read(0, &c, 1) > 0)
      ;
  }
  pthread_t t;
  if (pthread_create(&t, nullptr, work, nullptr) != 0)
    return 1;
  work(nullptr);
  pthread_join(t, nullptr);
  printf("wrong 0\n");
  return 0;
}
