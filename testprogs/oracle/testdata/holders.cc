// What optimization does to variables of C++: containers, references, lambdas, bases,
// exceptions, smart pointers, and what templates and the library inline.
#include <algorithm>
#include <array>
#include <cstdio>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

#define APART __attribute__((noinline))

volatile long sink;
APART void observe(long v) { sink = sink + v; }

namespace shapes {
enum class Kind : unsigned char { Dot, Disc = 5, Box };
enum Mask { None, First = 1, Second = 2, Third = 8 };

struct Shape {
	int id;
	static int made;
	explicit Shape(int n) : id(n) { made++; }
	virtual ~Shape() = default;
	virtual double area() const = 0;
	virtual Kind kind() const { return Kind::Dot; }
};
int Shape::made;

struct Disc final : Shape {
	double r;
	Disc(int n, double radius) : Shape(n), r(radius) {}
	APART double area() const override
	{
		double square = r * r;
		observe(id);
		return square * 3.0;
	}
	Kind kind() const override { return Kind::Disc; }
};

struct Named {
	std::string name;
	Mask mask;
};
struct Box : Shape, Named {
	double w, h;
	Box(int n, double a, double b, std::string s) : Shape(n), Named{std::move(s), Mask(First | Third)}, w(a), h(b) {}
	APART double area() const override
	{
		const auto &[n, m] = static_cast<const Named &>(*this);
		observe(n.size() + m);
		return w * h;
	}
	Kind kind() const override { return Kind::Box; }
};
} // namespace shapes

using namespace shapes;

APART static long texts(const std::string &given, std::string_view part, const char *plain)
{
	std::string copy = given + plain;
	std::string small = "ab";
	const std::string &alias = copy;
	observe(copy.size());
	small += part;
	observe(alias.find(part));
	std::string moved = std::move(copy);
	observe(moved.size() + small.size());
	return moved.size() + alias.size();
}

APART static int vectors(std::vector<int> &v, const std::vector<std::string> &names, int extra)
{
	v.push_back(extra);
	observe(v.size());
	int sum = 0;
	for (const int &item : v) {
		sum += item * extra;
		observe(sum);
	}
	for (auto it = names.begin(); it != names.end(); ++it)
		observe(it->size());
	std::array<short, 4> fixed{1, 2, short(extra), 4};
	observe(fixed[extra & 3]);
	return std::accumulate(fixed.begin(), fixed.end(), sum);
}

APART static long maps(std::map<std::string, int> &m, std::unordered_map<int, double> &um, std::set<long> s)
{
	auto [where, fresh] = m.emplace("key" + std::to_string(m.size()), int(um.size()));
	observe(where->second + fresh);
	um[int(m.size())] = 0.5 * m.size();
	long total = 0;
	for (auto &[key, value] : m) {
		value++;
		total += value;
		observe(key.size());
	}
	s.insert(total);
	auto found = s.lower_bound(3);
	observe(found == s.end() ? -1 : *found);
	return total + s.size();
}

APART static double virtuals(const Shape &shape, const Shape *other, Shape *const *list, int n)
{
	double sum = shape.area();
	observe(long(shape.kind()));
	if (auto *box = dynamic_cast<const Box *>(other))
		sum += box->w;
	for (int i = 0; i < n; i++)
		sum += list[i]->area();
	observe(long(sum));
	return sum;
}

APART static int lambdas(int base, std::vector<int> v)
{
	int calls = 0;
	auto add = [&calls, base, &v](int n) {
		calls++;
		observe(n + base);
		return n + base + int(v.size());
	};
	std::function<int(int)> kept = add;
	std::sort(v.begin(), v.end(), [&](int a, int b) {
		observe(a - b);
		return a > b;
	});
	int sum = kept(3) + add(4);
	observe(sum + calls);
	return sum + v.front();
}

APART static int owners(int n)
{
	auto unique = std::make_unique<Disc>(n, n * 0.5);
	std::shared_ptr<Shape> shared = std::make_shared<Box>(n + 1, 2.0, 3.0, "shared");
	std::weak_ptr<Shape> weak = shared;
	observe(unique->id);
	std::optional<int> maybe, none;
	if (n > 1)
		maybe = n * 2;
	std::variant<int, double, std::string> either = n & 1 ? std::variant<int, double, std::string>(2.5) : n;
	std::tuple<int, char, double> three{n, 'x', 1.5};
	observe(shared.use_count() + weak.use_count());
	observe(maybe.value_or(1) + either.index());
	return std::get<0>(three) + unique->id + none.has_value();
}

template <typename T, int N> struct Ring {
	T slots[N]{};
	unsigned next = 0;
	APART void put(T value)
	{
		T &slot = slots[next % N];
		slot = value;
		observe(next);
		next++;
	}
	T sum() const
	{
		T all{};
		for (const T &s : slots)
			all += s;
		return all;
	}
};

template <typename T> APART T largest(const T &a, T b, T &&c)
{
	const T &most = std::max({a, b, c});
	observe(long(most));
	return most;
}

APART static int throws(int n, const char *why)
{
	std::string text = why;
	if (n % 2)
		throw std::runtime_error(text + " odd");
	observe(text.size());
	return n;
}

APART static int catches(int n)
{
	int result = 0;
	for (int i = 0; i < 2; i++) {
		try {
			result += throws(n + i, "it is");
		} catch (const std::exception &e) {
			observe(e.what()[0]);
			result -= n;
		}
	}
	return result;
}

APART static long sequences(std::deque<int> d, std::list<std::pair<int, char>> &l)
{
	static int visits;
	visits++;
	d.push_front(visits);
	l.emplace_back(visits, 'a' + visits);
	long sum = 0;
	for (auto &&[n, c] : l) {
		sum += n + c;
		observe(sum);
	}
	observe(d.size());
	return sum + d.back();
}

struct Counter {
	int n = 0;
	long Counter::*unused = nullptr;
	int (Counter::*step)(int) = &Counter::up;
	int up(int by) { return n += by; }
	APART Counter &chain(int by) &
	{
		(this->*step)(by);
		observe(n);
		return *this;
	}
};

APART static int run(int argc, char **argv)
{
	std::vector<int> v{5, 3, 9};
	std::vector<std::string> names{"one", "a longer name than fits inside", ""};
	std::map<std::string, int> m{{"a", 1}};
	std::unordered_map<int, double> um;
	std::list<std::pair<int, char>> l;
	Disc disc(7, 1.5);
	Box box(8, 2, argc, "box");
	Shape *list[] = {&disc, &box};
	Ring<double, 3> ring;
	Ring<int, 2> ints;
	Counter counter;
	long sum = 0;
	for (int round = 0; round < 3; round++) {
		sum += texts("given " + names[round], std::string_view("partial", 3 + round), argc > 5 ? argv[1] : "plain");
		sum += vectors(v, names, round + 2);
		sum += maps(m, um, {1, 2, 30 + round});
		sum += long(virtuals(disc, list[round & 1], list, 2));
		sum += lambdas(round, v);
		sum += owners(round);
		ring.put(round * 1.5);
		ints.put(round);
		sum += largest(round, 2, argc + 3) + long(largest(2.5, double(round), ring.sum()));
		sum += catches(round);
		sum += sequences({round, 2, 3}, l);
		sum += counter.chain(round).chain(2).n;
	}
	return sum != 0;
}

// What the loader left on the stack is random.
APART static int cleared()
{
	volatile char all[32768];
	for (volatile char &c : all)
		c = 0;
	return all[5];
}

int main(int argc, char **argv)
{
	int n = cleared();
	n += run(argc, argv);
	printf("%d\n", n);
}
