//build: -O2
//also: libowners.so owners_lib.c -O2 -shared -fPIC -s
// Blocks of sizes of their own, each of which belongs to one function: to an inlined
// one, to callers of the standard library and of a wrapper, and to a function without a
// name in a stripped library.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))
#define INLINE inline __attribute__((always_inline))

static void *kept[8];

static INLINE char *reserve_arena(size_t size) // inlined in main
{
	char *arena = static_cast<char *>(malloc(size));
	arena[0] = 1;
	return arena;
}

NOINLINE char *make_page()
{
	return std::make_unique<char[]>(310000).release();
}

NOINLINE void fill(std::vector<int> &numbers) // grows to 524,288 bytes
{
	for (int i = 0; i < 100000; i++)
		numbers.push_back(i);
}

NOINLINE void *xmalloc(size_t size)
{
	void *block = malloc(size);
	if (!block)
		abort();
	return block;
}

NOINLINE char *load_table()
{
	char *table = static_cast<char *>(xmalloc(720000));
	table[0] = 1; // or it jumps to xmalloc
	return table;
}

NOINLINE void finish() { puts("done"); }

int main(int, char **argv)
{
	kept[0] = reserve_arena(67947724);
	kept[1] = make_page();
	auto *numbers = new std::vector<int>;
	fill(*numbers);
	kept[2] = load_table();
	std::string library(argv[0]);
	library = library.substr(0, library.rfind('/')) + "/libowners.so";
	void *lib = dlopen(library.c_str(), RTLD_NOW);
	if (!lib)
		return 1;
	kept[3] = reinterpret_cast<void *(*)()>(dlsym(lib, "open_store"))();
	finish();
	return numbers->size() == 100000 ? 0 : 1;
}
