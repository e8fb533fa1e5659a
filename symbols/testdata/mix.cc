#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace ns {
namespace {
int hidden(int x) { return x * 3 + (int)random(); }
}
template <class T> struct Box {
    T v;
    explicit Box(T x) : v(x) {}
    T get() const { return v + T(hidden(2)); }
    template <class U> U as() { return U(v); }
    ~Box() { puts("gone"); }
};
struct Buffer {
    std::vector<char> data;
    void grow(size_t n) { data.resize(data.size() + n); }
    void grow(const std::string &s) { grow(s.size()); }
    Buffer &operator+=(int n) { grow(size_t(n)); return *this; }
    static int count;
    static int bump();
    void *operator new(size_t n) { return malloc(n); }
};
int Buffer::count;
int Buffer::bump() { return ++count; }
inline namespace v2 { __attribute__((noinline)) int versioned(int a) { return a + hidden(a); } }
}
int plain(int a) { return a + 1; }
int plain(double a) { return (int)a + 2; }
template <class T> __attribute__((noinline)) T largest(T a, T b) { return a > b ? a : b; }
int main(int argc, char **argv) {
    ns::Buffer b;
    b.grow(argc);
    b.grow(std::string("abc"));
    b += 4;
    auto p = std::make_unique<ns::Buffer>();
    ns::Box<int> bi(argc);
    ns::Box<double> bd(argc);
    std::map<std::string, int> m;
    m["x"] = bi.get() + bi.as<long>();
    std::vector<int> v{3, 1, 2};
    auto lam = [&](int a) { return a + argc; };
    std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
    struct Local { int f(int z) { return z * 2; } } l;
    printf("%d %f %d %d %d %d %d %f\n", m["x"], bd.get(), lam(3), l.f(2), ns::Buffer::bump(), ns::versioned(1), plain(1) + plain(2.0), largest(1.0, 2.0) + largest(1, 2));
}
