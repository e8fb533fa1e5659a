// Structs that optimization takes apart: their members are in registers, some of which a
// called function may have overwritten.
#include <cstdio>
#include <memory>
#include <string_view>
#include <optional>
#include <utility>
#include <vector>
struct Node { int v; double w; };
struct Pair { long a, b; };
struct Mix { int i; float f; Node *p; };
volatile int sink;
__attribute__((noinline)) void use(int x) { sink = x; }
__attribute__((noinline)) std::unique_ptr<Node> make(int n) { auto p = std::make_unique<Node>(); p->v = n; return p; }
__attribute__((noinline)) int owner(int n)
{
	std::unique_ptr<Node> up = make(n);
	Pair pr{n, n * 2};
	Mix mx{n, n * 0.5f, up.get()};
	std::string_view sv("hello", n);
	std::pair<int, long> sp(n, n * 3l);
	std::optional<int> op(n);
	use(n);                          // stop 1
	pr.a += up->v;
	mx.i += pr.a;
	sp.second += mx.i;
	use(pr.a + sv.size());
	use(mx.i + sp.second);
	return pr.b + mx.f + sp.first + *op;
}
int main(int argc, char **) { return owner(argc + 3) == 0; }
