// Blocks that a function of another family takes back, one for each argument; and some that are
// given back as they should be.
//build: -O0 -std=c++17
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

struct Item {
	long value[4];
};

struct alignas(128) Wide {
	long value[16];
};

__attribute__((noinline)) static Item *make() { return new Item(); }
__attribute__((noinline)) static Item *array(int n) { return new Item[n]; }
__attribute__((noinline)) static void drop(Item *p) { delete p; }
__attribute__((noinline)) static void drop_array(Item *p) { delete[] p; }

static void fine()
{
	drop(make());
	drop_array(array(3));
	delete new Wide();
	delete[] new Wide[2];
	operator delete(operator new(10));
	operator delete(operator new(10, std::nothrow), std::nothrow);
	free(strdup("text"));
	std::vector<std::string> v(100, std::string(100, 'x'));
	v.resize(1000);
	std::shared_ptr<Item> s = std::make_shared<Item>();
	try {
		throw std::string(100, 'y');
	} catch (std::string &) {
	}
}

int main(int argc, char **argv)
{
	std::string what = argc < 2 ? "" : argv[1];
	if (what == "fine")
		fine();
	else if (what == "array-delete")
		drop(array(3));
	else if (what == "new-delete[]")
		drop_array(make());
	else if (what == "new-free")
		free(make());
	else if (what == "malloc-delete")
		drop(static_cast<Item *>(malloc(sizeof(Item))));
	else if (what == "new-realloc")
		free(realloc(make(), 100));
	else if (what == "sized-twice") {
		Item *p = make();
		drop(p);
		drop(p);
	} else
		return 2;
	return 0;
}
