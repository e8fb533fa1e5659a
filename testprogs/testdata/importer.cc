// A service that imports a batch of orders: each order leaves an entry in the index, between what the import frees.
//build: -std=c++20
#include <cstdio>
#include <map>
#include <memory_resource>
#include <string>
#include <vector>

struct Order {
	int id;
	std::string customer;
	std::vector<std::string> lines;
};

struct Index {
#ifdef FIXED
	std::pmr::monotonic_buffer_resource pool{1 << 20}; // malloc maps blocks of this size by themselves
	std::pmr::map<int, size_t> lines_of{&pool};
#else
	std::map<int, size_t> lines_of;
#endif

	void add(const Order &o) { lines_of[o.id] = o.lines.size(); }
};

static Index orders;

static Order parse(int id)
{
	Order o{id, "customer " + std::to_string(id % 100), {}};
	o.lines.reserve(8);
	for (int i = 0; i < 8; i++)
		o.lines.push_back("line " + std::to_string(i) + std::string(240, '.'));
	return o;
}

__attribute__((noinline)) static void parsed(size_t n) { std::printf("%zu orders parsed\n", n); }
__attribute__((noinline)) static void idle() { std::puts("idle"); }

static void import_batch(int size)
{
	std::vector<Order> batch;
	batch.reserve(size);
	for (int id = 0; id < size; id++) {
		batch.push_back(parse(id));
		orders.add(batch.back());
	}
	parsed(batch.size());
}

int main()
{
	std::puts("ready");
	import_batch(9000);
	idle();
	return 0;
}
