#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum color { RED, GREEN, BLUE = 7 };
enum flags { FA = 1, FB = 2, FC = 4 };
typedef struct point { int x, y; } point_t;
union u { int i; float f; unsigned char b[4]; };
struct node { struct node *next; const char *name; int (*cmp)(int, int); };
struct big { unsigned a : 3, b : 5; signed c : 4; long long d; char buf[16]; point_t pts[2]; union u u; struct { int p, q; }; enum color col; _Bool ok; };
static int cmp(int a, int b) { return a - b; }
int global = 42; static double sd = 2.5; const char *gs = "hello\n\"q\"";
struct node list2 = { 0, "two", cmp }, list1 = { &list2, "one", cmp };
__thread int tls = 99;
int work(int n, const char *s, double d, struct big *b, point_t pt) {
  int arr[5] = {1, 2, 3, 4, 5};
  int matrix[2][3] = {{1,2,3},{4,5,6}};
  int zeros[30] = {0};
  char name[32] = "abc";
  char full[3] = {'x','y','z'};
  enum color c = BLUE; enum flags f = FA | FC; enum color bad = 5; enum flags fb = 9;
  float fl = 1.5f; long double ld; memset(&ld, 0, sizeof ld); ld = 3.25L; unsigned char uc = 200; signed char sc = -3; short sh = -7;
  unsigned long long ull = 1ull << 63; _Bool t = 1; char ch = 'A'; char nl = '\n';
  void *vp = &arr[1]; int *ip = &arr[2]; int (*fp)(int,int) = cmp; char **pp = 0; const char *bad_s = (char*)1;
  int vla[n]; for (int i = 0; i < n; i++) vla[i] = i * i;
  __int128 i128 = (__int128)1 << 100; float _Complex cx = 1.0f + 2.0fi; 
  static int counter = 3;
  int (*ap)[5] = &arr;
  volatile int vol = 5; const int *const cip = &arr[0];
  wchar_t ws[] = L"wide";
  { int inner = n + 1; counter += inner; printf("%d %s %f %d %d\n", n, s, d, b->a, pt.x + vol);}
  return /* stop */ arr[0] + matrix[1][1] + zeros[2] + name[0] + full[0] + c + f + bad + fb + (int)fl + (int)ld + uc + sc + sh + (int)ull + t + ch + nl + (vp != 0) + *ip + fp(1,2) + (pp != 0) + (bad_s != 0) + vla[1] + (int)i128 + counter + (*ap)[0] + *cip + ws[0] + tls + (int)__real__ cx;
}
int main(int argc, char **argv) {
  struct big b = { .a = 5, .b = 17, .c = -2, .d = 1234567890123LL, .buf = "buffer", .pts = {{1,2},{3,4}}, .u = { .f = 1.0f }, .p = 8, .q = 9, .col = GREEN, .ok = 1 };
  point_t pt = { 10, 20 };
  return work(4, gs, sd + global, &b, pt) & 1;
}
