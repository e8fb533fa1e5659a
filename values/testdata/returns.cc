// Functions f01, f02 ... return objects of C++ in registers, or through a hidden pointer
// when copying them takes a call.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#define FN __attribute__((noinline))
struct Plain { int a; long b; };
struct Dtor { int a; ~Dtor() {} };
struct DefCopy { int a; DefCopy() = default; DefCopy(const DefCopy &) = default; };
struct UserCopy { int a; UserCopy(int x) : a(x) {} UserCopy(const UserCopy &o) : a(o.a) {} };
struct MoveOnly { int a; MoveOnly(int x) : a(x) {} MoveOnly(MoveOnly &&) = default; MoveOnly(const MoveOnly &) = delete; };
struct OutDef { int a; OutDef(int x) : a(x) {} OutDef(const OutDef &); };
OutDef::OutDef(const OutDef &) = default;
struct Virt { int a; virtual int f() { return a; } };
struct Derived : Plain { };
struct Inherits : UserCopy { using UserCopy::UserCopy; };
struct HasStr { std::string s; };
struct Empty { };
struct OnlyAssign { int a; OnlyAssign &operator=(const OnlyAssign &o) { a = o.a; return *this; } };
template <class T> struct Box { T v; Box(T x) : v(x) {} Box(const Box &o) : v(o.v) {} };
template <class T> struct Plainer { T v, w; Plainer(T x, T y) : v(x), w(y) {} };
namespace ns { enum class Kind : char { A = 1, B = 2 }; struct Inner { struct Deep { float x, y; }; }; }
struct Obj { int m; FN int twice() { return 2 * m; } };

volatile int sink;
static Plain plain{21, 22};
FN Plain f01() { sink = 1; return {1, 2}; }
FN Dtor f02() { sink = 1; return {3}; }
FN DefCopy f03() { sink = 1; DefCopy d; d.a = 4; return d; }
FN UserCopy f04() { sink = 1; return UserCopy(5); }
FN MoveOnly f05() { sink = 1; return MoveOnly(6); }
FN OutDef f06() { sink = 1; return OutDef(7); }
FN Virt f07() { sink = 1; Virt v; v.a = 8; return v; }
FN HasStr f08() { sink = 1; return {std::string("hello")}; }
FN std::string f09() { sink = 1; return "a string"; }
FN std::unique_ptr<int> f10() { sink = 1; return std::unique_ptr<int>(new int(5)); }
FN std::vector<int> f11() { sink = 1; return {1, 2, 3}; }
FN std::pair<int, double> f12() { sink = 1; return {1, 2.5}; }
FN std::optional<int> f13() { sink = 1; return 7; }
FN Box<int> f14() { sink = 1; return Box<int>(9); }
FN Plainer<float> f15() { sink = 1; return Plainer<float>(1.5, 2.5); }
FN Plain &f16() { sink = 1; return plain; }
FN const int &f17() { sink = 1; return plain.a; }
FN ns::Kind f18() { sink = 1; return ns::Kind::B; }
FN ns::Inner::Deep f19() { sink = 1; return {0.5, 1.5}; }
FN Derived f20() { sink = 1; Derived d; d.a = 31; d.b = 32; return d; }
FN Inherits f21() { sink = 1; return Inherits(33); }
FN OnlyAssign f22() { sink = 1; OnlyAssign o; o.a = 34; return o; }
FN int Plain::*f23() { sink = 1; return &Plain::a; }
FN auto f24() { sink = 1; return 2.5f; }
FN Empty f25() { sink = 1; return {}; }
FN bool f26() { sink = 1; return true; }
FN Plain &&f27() { sink = 1; return std::move(plain); }

int main()
{
	f01(); f02(); f03(); f04(); f05(); f06(); f07(); f08(); f09(); f10(); f11(); f12(); f13(); f14();
	f15(); f16(); f17(); f18(); f19(); f20(); f21(); f22(); f23(); f24(); f25(); f26(); f27();
	Obj o{4};
	return o.twice() == 8 ? 0 : 1;
}
