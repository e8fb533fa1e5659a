/* Floating-point numbers and vectors in registers. */
#include <immintrin.h>
#include <stdio.h>
struct two { double a, b; };
struct four { float a, b, c, d; };
__attribute__((noinline)) double work(float f, double d, struct two t, struct four q, __m128 v, __m128i w, int n) {
  __asm__ volatile("" : "+x"(f), "+x"(d), "+x"(v), "+x"(w));
  double sum = f + d * t.a - t.b + q.a + q.d + v[0] + n;
  __asm__ volatile("" : "+x"(sum));
  return sum + f; /* stop */
}
long double wide(long double x, int n) {
  long double y = x * n;
  __asm__ volatile("" : "+t"(y));
  puts("wide");
  return y + x;
}
int main(void) {
  struct two t = {1.25, 2.5};
  struct four q = {1, 2, 3, 4};
  double r = work(0.5f, 7.75, t, q, _mm_set_ps(4, 3, 2, 1), _mm_set_epi32(4, 3, 2, 1), 3);
  printf("%f %Lf\n", r, wide(r, 2));
  return 0;
}
