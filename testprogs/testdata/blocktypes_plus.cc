// Allocates blocks in the ways that programs of C++ do, and tells of which type each is: "= TYPE ADDRESS". A ? stands
// for a block of which the source does not tell the type.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

__attribute__((noinline)) static void tell(const char *type, const void *at) { printf("= %s %p\n", type, at); fflush(stdout); }
__attribute__((noinline)) static void blocks_told() { fflush(stdout); }
static const char *below(const void *at, int n) { return static_cast<const char *>(at) - n; }

namespace geo {
struct Point {
	int x, y;
};
class Shape {
public:
	virtual ~Shape() {}
	virtual double area() const { return 0; }
	int id = 1;
};
class Circle : public Shape {
public:
	explicit Circle(double r) : r(r) {}
	double area() const override { return r * r * 3; }
	double r;
};
class Ring : public Circle { // as large as Circle
public:
	explicit Ring(double r) : Circle(r) {}
	double area() const override { return r; }
};
class Named {
public:
	virtual ~Named() {}
	std::string name;
};
class Badge : public Shape, public Named {
public:
	double extra[3];
};
template <class T> struct Box {
	T value;
	Box *next;
	explicit Box(T v) : value(v), next(nullptr) {}
};
} // namespace geo

struct Plain {
	long a, b, c;
};
struct Wide : Plain { // without a constructor
	long d;
};
struct Same : Plain { // as large as Plain
	Same() { a = b = c = 1; }
};
struct Text {
	std::string s;
	explicit Text(const char *p) : s(p) {}
};
struct Holder {
	Plain *plain;
	geo::Shape *shape;
	std::unique_ptr<Text> text;
	char *buffer;
};
static Holder holder;

struct Arena {
	char *block;
	Arena() : block(new char[4096]) {}
};

template <class T> struct Alloc {
	typedef T value_type;
	Alloc() {}
	template <class U> Alloc(const Alloc<U> &) {}
	T *allocate(size_t n) { return static_cast<T *>(malloc(n * sizeof(T))); }
	void deallocate(T *p, size_t) { free(p); }
};
template <class T, class U> bool operator==(const Alloc<T> &, const Alloc<U> &) { return true; }
template <class T, class U> bool operator!=(const Alloc<T> &, const Alloc<U> &) { return false; }

__attribute__((noinline)) static Plain *make_plain() { return new Plain(); }
__attribute__((noinline)) static geo::Shape *make_shape(int kind)
{
	switch (kind) {
	case 0:
		return new geo::Shape;
	case 1:
		return new geo::Circle(kind);
	}
	return new geo::Ring(kind);
}

int main(int argc, char **)
{
	geo::Point *point = new geo::Point{argc, 2};
	tell("geo::Point", point);
	geo::Shape *shape = new geo::Circle(argc);
	tell("geo::Circle", shape);
	const char *kinds[] = {"geo::Shape", "geo::Circle", "geo::Ring"};
	for (int i = 0; i < 3; i++)
		tell(kinds[i], make_shape(i));
	geo::Badge *badge = new geo::Badge;
	tell("geo::Badge", badge);
	geo::Named *named = new geo::Badge;
	tell("geo::Badge", dynamic_cast<geo::Badge *>(named));
	auto *box = new geo::Box<double>(2.5);
	tell("geo::Box<double>", box);
	holder.plain = new Plain{1, 2, 3};
	tell("Plain", holder.plain);
	holder.shape = new geo::Shape;
	tell("geo::Shape", holder.shape);
	holder.text = std::make_unique<Text>("a text that is longer than what fits");
	tell("Text", holder.text.get());
	tell("char[]", holder.text->s.data());
	holder.buffer = new char[100 + argc];
	tell("char[]", holder.buffer);
	tell("Plain", make_plain());
	Plain *wide = new Wide();
	tell("Wide", wide);
	Plain *same = new Same();
	tell("Same", same);
	Text *text = new Text("another text that is longer");
	tell("Text", text);
	Text *texts = new Text[3]{Text("a"), Text("b"), Text("c")};
	tell("Text[]", below(texts, 8));
	int *ints = new int[50];
	memset(ints, 0, 200);
	tell("int[]", ints);
	std::vector<Plain> plains(7);
	tell("Plain[]", plains.data());
	std::vector<int> grown;
	for (int i = 0; i < 100; i++)
		grown.push_back(i);
	tell("int[]", grown.data());
	std::map<int, Plain> map;
	map[3].a = 5;
	tell("std::_Rb_tree_node<std::pair<int const, Plain> >", below(&*map.begin(), 32));
	std::unordered_map<int, geo::Point> hash;
	hash[4].x = 1;
	tell("std::__detail::_Hash_node<std::pair<int const, geo::Point>, false>", below(&*hash.begin(), 8));
	std::list<Plain> list(1);
	tell("std::_List_node<Plain>", below(&list.front(), 16));
	std::deque<int> deque(3);
	tell("int[]", &deque.front());
	auto shared = std::make_shared<Plain>();
	tell("std::_Sp_counted_ptr_inplace<Plain, std::allocator<void>, (__gnu_cxx::_Lock_policy)2>", below(shared.get(), 16));
	std::shared_ptr<Text> pointed(new Text("shared text that is much longer"));
	tell("Text", pointed.get());
	std::vector<Plain, Alloc<Plain>> own(5);
	tell("Plain[]", own.data());
	Arena *arena = new Arena;
	tell("Arena", arena);
	tell("char[]", arena->block);
	void *raw = operator new(48);
	tell("?", raw);
	geo::Shape **table = new geo::Shape *[10 + argc];
	tell("geo::Shape *[]", table);
	for (int i = 0; i < 3; i++) {
		table[i] = i & 1 ? static_cast<geo::Shape *>(new geo::Circle(i)) : new geo::Shape;
		tell(kinds[i & 1], table[i]);
	}
	std::unique_ptr<Plain[]> array(new Plain[6]);
	tell("Plain[]", array.get());
	Plain *quiet = new (std::nothrow) Plain;
	tell("Plain", quiet);
	blocks_told();
	return point->x + shape->id + int(box->value) + (badge == nullptr) + int(wide->a) + int(texts[0].s.size());
}
