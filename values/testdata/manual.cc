// What chapters "Examining Data" and "Expressions" of gdb's manual are about, in C++.
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

namespace ns {
int var = 5;
namespace inner {
static long deep = 6;
}
enum class Level : unsigned char { Low = 1, High = 2, Both = 3 };
struct Point {
	int x, y;
	static int made;
	int sum() const { return x + y; }
	int scaled(int by) const { return (x + y) * by; }
	virtual ~Point() {}
	virtual int area() { return x * y; }
};
int Point::made = 77;
}

struct Base1 {
	virtual ~Base1() {}
	int one = 1;
};
struct Base2 {
	virtual ~Base2() {}
	int two = 2;
};
struct Derived : Base1, Base2 {
	int three = 3;
	int self(int n);
};
struct Plain {
	int a, b;
	unsigned bits : 4;
	double d;
	int get(int n) { return a + n; }
};
class NoBool {
public:
	int n = 3;
};
enum Flags { F_A = 1, F_B = 2, F_C = 8 };
inline Flags operator|(Flags a, Flags b) { return Flags(int(a) | int(b)); }

template <typename T> T twice(T x)
{
	return x + x;
}
static int hidden = 21;
int over(int x) { return x; }
int over(double x) { return int(x) + 100; }

int Derived::self(int n)
{
	static int local_static = 9;
	int three_local = three + n + local_static;
	Derived *other = this;
	return /* stop */ three_local + other->one + this->two + hidden + ns::inner::deep + over(1) + over(1.0);
}

Plain pl { 4, 5, 6, 2.5 };
Derived de;
ns::Point pt;
int Plain::*pm = &Plain::b;
double Plain::*pd = &Plain::d;
int Plain::*pnull = nullptr;
int (Plain::*pmf)(int) = &Plain::get;
int (ns::Point::*pvf)() = &ns::Point::area;
int (ns::Point::*pcf)(int) const = &ns::Point::scaled;
std::unique_ptr<int[]> ua;
std::unique_ptr<Plain[]> up;
std::unique_ptr<Plain> us;
std::nullptr_t np = nullptr;
Flags fl = F_A | F_C;
Flags fbad = Flags(16);
ns::Level lv = ns::Level::High;
char16_t u16[] = u"u16";
char32_t u32[] = U"u32";
wchar_t w[] = L"wide";
int arr[4] = { 1, 2, 3, 4 };
int &ref = arr[1];
int &&rref = 7;
const int cst = 8;
std::string s = "text";
std::vector<int> v { 1, 2, 3 };
NoBool nb;
Base1 *b1 = &de;
Base2 *b2 = &de;
auto lambda = [](int x) { return x + 1; };

int main()
{
	ua.reset(new int[3] { 7, 8, 9 });
	up.reset(new Plain[2] { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } });
	us.reset(new Plain { 9, 9, 9, 9 });
	pt.x = 3;
	pt.y = 4;
	return de.self(twice(2) + twice(1.5) > 3) + pt.sum() + pl.get(1) + lambda(1) + (pl.*pmf)(1) + (pt.*pvf)() + (pt.*pcf)(2) + v[0] + ref + rref + cst + nb.n == 0;
}
