#include <cstdio>
#include <deque>
namespace geo { template <class T, unsigned N> struct Ring { T at[N]; }; } geo::Ring<double, 2> ring = {{1, 2}};
int three[3] = {7, 8, 9}; static long hidden = 44;
struct A { int a = 1; virtual ~A() {} }; struct B { int b = 2; virtual void g() {} }; struct C : A, B { int c = 3; };
struct P1 { long x = 10; }; struct P2 { long y = 20; }; struct D : P1, P2 { long z = 30; };
struct Top { int t = 1; virtual ~Top() {} }; struct Left : virtual Top { int l = 2; }; struct Right : virtual Top { int r = 3; };
struct Bottom : Left, Right { int d = 4; }; struct Stranger { int s = 5; };
int use(C& c, B* pb, A* pa, D& d, P2* p2, Bottom& v, Top* top, Left* left, Stranger* other, D* none) {
  float ff = 0.1f;
  P2 *target = p2; static int calls; calls += (int)hidden; std::deque<int> que; for (int i = 0; i < 300; i++) que.push_back(i);
  return c.c + pb->b + pa->a + d.z + p2->y + v.d + top->t + left->l + other->s + (none == nullptr) + (int)ff + (int)target->y; // stop
}
int main() { C c; D d; Bottom v; Stranger s; printf("%d\n", use(c, &c, &c, d, &d, v, &v, &v, &s, nullptr)); }
