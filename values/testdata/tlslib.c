/* Thread-local variables of a library; PREFIX makes another of it. */
#define JOIN(a, b) a##_##b
#define NAME(a, b) JOIN(a, b)
__thread int NAME(PREFIX, tls) = 5;
static __thread long NAME(PREFIX, own) = 77;
__thread int NAME(PREFIX, bss)[4];
int PREFIX(int n) {
  NAME(PREFIX, tls) += n;
  NAME(PREFIX, bss)[1] = n;
  NAME(PREFIX, own) += n;
  return NAME(PREFIX, tls) + (int)NAME(PREFIX, own);
}
