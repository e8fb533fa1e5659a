// Linked with mix.cc: a second unit, so that its parts of the tables do not begin at 0.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>
namespace more {
struct Shape {
    virtual ~Shape() {}
    virtual double area() const = 0;
    static int made;
};
int Shape::made;
struct Square : Shape {
    double side;
    explicit Square(double s) : side(s) { made++; }
    double area() const override { return side * side; }
};
namespace {
struct Counter {
    int n = 0;
    int next(int by) { return n += by > 0 ? by : 1; }
};
inline int half(int x) { return x / 2 + rand() % 2; }
}
static int deep(int x) {
    Counter c;
    for (int i = 0; i < x; i++)
        c.next(half(i));
    return c.n;
}
// Most compilers put the error paths into a part of their own, far away.
__attribute__((noinline)) int checked(const std::vector<int> &v, int i) {
    if (__builtin_expect(i < 0, 0)) {
        std::string why = "index " + std::to_string(i);
        fprintf(stderr, "%s\n", why.c_str());
        throw std::out_of_range(why);
    }
    if (__builtin_expect(size_t(i) >= v.size(), 0)) {
        fputs("beyond\n", stderr);
        abort();
    }
    return v[i] + deep(i);
}
template <class K> struct Table {
    std::map<K, int> all;
    void put(const K &k, int v) { all[k] += v; }
    int sum() const {
        int n = 0;
        for (auto &p : all) { n += p.second; }
        return n;
    }
};
__attribute__((noinline)) int fill(int n) {
    Table<std::string> t;
    for (int i = 0; i < n; i++) { t.put(std::to_string(i), half(i)); t.put("all", 1); }
    return t.sum();
}
}
int more_work(int n) {
    std::vector<int> v(n + 1, 2);
    more::Square s(n);
    const more::Shape &shape = s;
    int sum = 0;
    try {
        for (int i = -1; i <= n; i++) sum += more::checked(v, i);
    } catch (const std::exception &e) {
        sum--;
    }
    return sum + more::fill(n) + int(shape.area());
}
struct Runner { int result = more_work(3); } runner;
