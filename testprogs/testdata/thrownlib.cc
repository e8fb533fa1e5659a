//build: -O0 -g
// Throws objects whose classes only the C++ library describes, and others that are named in several ways.
#include <cstdio>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

template <class Key, class Value = std::map<std::string, Key>, int N = 3> struct Table {
	Value value;
};

struct Late : std::runtime_error {
	int minutes = 5;
	Late() : std::runtime_error("late") {}
};

// Silent has a what() of its own, which hdb does not run.
struct Silent : std::logic_error {
	Silent() : std::logic_error("said") {}
	const char *what() const noexcept override { return "nothing"; }
};

template <class F> void attempt(F thrower)
{
	try {
		thrower();
	} catch (const std::exception &error) {
		puts(error.what());
	} catch (...) {
		puts("caught");
	}
}

int main()
{
	Table<long, std::map<std::string, char const *>> table;
	std::runtime_error on_stack("pointed to");
	attempt([] { throw std::runtime_error("no room"); });
	attempt([] { throw std::out_of_range("9 of 3"); });
	attempt([] { throw std::system_error(2, std::generic_category(), "open"); });
	attempt([] { throw std::bad_alloc(); });
	attempt([] { throw Late(); });
	attempt([] { throw Silent(); });
	attempt([&] { throw table; });
	attempt([&] { throw &on_stack; });
	return 0;
}
