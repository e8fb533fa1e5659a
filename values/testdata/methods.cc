// Member functions, overloads and structs to be called from a debugger.
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>
#include <map>

namespace shop {

struct Point {
	int x, y;
	int sum() const { return x + y; }
	Point moved(int by) const { return {x + by, y + by}; }
	bool operator==(const Point &o) const { return x == o.x && y == o.y; }
};

struct Vec3 {
	double x, y, z;
};

struct Mixed {
	double d;
	long n;
};

struct Floats {
	float a, b, c;
};

class Store {
	int n = 3;
	std::string name_ = "corner";

public:
	static int made;
	static int count(int more) { return made + more; }
	int size() const;
	int size() { return n * 100; }
	int add(int by) { return n += by; }
	int add(const char *s) { return n += static_cast<int>(strlen(s)); }
	double add(double x) { return n + x; }
	int add(int a, int b) { return n += a + b; }
	const std::string &name() const { return name_; }
	int at(Point p) { return p.x * 10 + p.y; }
	int amb(long, int) { return 1; }
	int amb(int, long) { return 2; }
	template <class T> T twice(T x) { return x + x; }
	int here(int x);
	int (*hook)(int) = nullptr;
};

int Store::size() const { return n; }
int Store::made = 5;

int Store::here(int x) {
	return size() + x; // inside
}

struct Shape {
	virtual ~Shape() {}
	virtual double area() const { return 0; }
	virtual int sides() { return 0; }
	int id = 7;
	int ident() { return id; }
};

struct Named {
	virtual const char *label() { return "named"; }
	long tag = 42;
	virtual ~Named() {}
};

struct Square : Shape, Named {
	double side = 3;
	double area() const override { return side * side; }
	int sides() override { return 4; }
	const char *label() override { return side > 2 ? "big" : "small"; }
};

struct Deep : Square {
	int sides() override { return 44; }
};

struct VBase {
	int v = 11;
	virtual int get() { return v; }
	virtual ~VBase() {}
};
struct VLeft : virtual VBase {
	int l = 1;
};
struct VRight : virtual VBase {
	int r = 2;
	int get() override { return v + r; }
};
struct VBoth : VLeft, VRight {
	int both() { return v; }
};

int over(int) { return 1; }
int over(double) { return 2; }
int over(const char *) { return 3; }
int over(const Point &) { return 4; }
int over(int, int) { return 5; }
int over(const std::string &) { return 6; }

double length2(Vec3 v) { return v.x * v.x + v.y * v.y + v.z * v.z; }
double mixed(Mixed m) { return m.d + m.n; }
float floats(Floats f) { return f.a + f.b + f.c; }
int point(Point p, int n) { return p.x + p.y + n; }
Vec3 scaled(Vec3 v, double by) { return {v.x * by, v.y * by, v.z * by}; }
long many(int a, int b, int c, int d, int e, int f, int g, long h, Mixed m, char i) { return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * m.n + 10 * i + static_cast<long>(m.d); }
double dmany(double a, double b, double c, double d, double e, double f, double g, double h, double i, float j) { return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j; }
long double wide(long double x, int n) { return x * n; }
__int128 huge(int a, __int128 x) { return x + a; }
size_t texts(std::string s) { return s.size(); }

// A Handle points to an object.
template <class T> struct Handle {
	T *p;
	T *operator->() const { return p; }
	T &operator*() const { return *p; }
	bool operator!() const { return !p; }
};

struct V {
	int x, y;
	int operator[](int i) const { return i ? y : x; }
	V operator-() const { return {-x, -y}; }
	int operator()(int k) { return x * k; }
};

V operator+(const V &a, const V &b) { return {a.x + b.x, a.y + b.y}; }
V operator*(const V &a, int k) { return {a.x * k, a.y * k}; }
bool operator<(const V &a, const V &b) { return a.x < b.x; }

} // namespace shop

int twice(int x) { return 2 * x; }
inline __attribute__((always_inline)) int flat(int x) { return x + 1; }
struct Small { inline __attribute__((always_inline)) int get() { return a; } int a; };

char buf[16] = "hello";
const char *ptr = "world";

int main() {
	using namespace shop;
	Store s;
	const Store cs;
	Store *ps = &s;
	s.hook = twice;
	Point p{3, 4};
	Vec3 v{1, 2, 3};
	Mixed m{1.5, 2};
	Floats f{1, 2, 3};
	Square sq;
	Deep deep;
	Shape *sh = &deep;
	Named *nm = &deep;
	VBoth vb;
	VBase *vbp = &vb;
	VLeft *vl = &vb;
	Small sm{flat(3)};
	std::string str = "a string";
	std::string_view sv = str;
	std::vector<int> vec{1, 2, 3};
	std::map<std::string, int> mp{{"a", 1}};
	int sum = s.size() + cs.size() + ps->add(1) + s.add("x") + s.add(1.5) + s.add(1, 1) + s.name().size() + s.at(p) + s.twice(3) + s.here(1) + sm.get();
	sum += sh->area() + sh->sides() + nm->label()[0] + vbp->get() + vb.both() + sh->ident() + p.sum() + p.moved(1).x + (p == p) + s.count(1) + s.amb(1, 1L) + s.amb(1L, 1) + s.twice(1.5);
	sum += over(1) + over(1.0) + over("x") + over(p) + over(1, 2) + over(str) + length2(v) + mixed(m) + floats(f) + point(p, 1) + scaled(v, 2).x + many(1, 2, 3, 4, 5, 6, 7, 8, m, 1) + dmany(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) + wide(1, 2) + huge(1, 2) + texts(str);
	Handle<Point> h{&p};
	V va{1, 2}, vb2{3, 4};
	sum += h->sum() + (*h).x + !h + (va + vb2 * 2).x + va[1] + (va < vb2) + (-va).y + va(2) + vec.capacity();
	printf("%d\n", sum); // stop
	return vl->l + sv.size() + mp.size();
}
