// Functions inlined into each other, of a namespace, a template, and a static one.
#include <cstdlib>

namespace shop {
struct Price {
	int cents;
	inline __attribute__((always_inline)) int times(int n) const { return cents * n + std::abs(n); }
};

static __attribute__((noinline)) int total(const Price &p, int n) {
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += p.times(i) + (i % 2 ? rand() : 1);
	return sum;
}
} // namespace shop

template <class T> __attribute__((noinline)) void twice(T &a) { a += a + rand(); }

extern "C" __attribute__((noinline)) int plain(int a) { return a * rand(); }

int main(int argc, char **) {
	shop::Price p{argc};
	int n = shop::total(p, argc) + p.times(3);
	twice(n);
	return plain(n) == 1;
}
