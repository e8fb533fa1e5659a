// Exceptions leave functions that are in the middle of an allocation of
// their own: operator new throws, a constructor throws, a handler rethrows.
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>

struct Failing {
	Failing() { throw std::runtime_error("constructor"); }
	char room[5000];
};

__attribute__((noinline)) static void too_large()
{
	volatile std::size_t n = ~std::size_t(0) / 4;
	char *p = new char[n];
	p[0] = 1;
}

__attribute__((noinline)) static void rethrow(int depth)
{
	try {
		if (depth == 0)
			delete new Failing;
		else
			rethrow(depth - 1);
	} catch (const std::exception &) {
		std::string note(300, 'n');
		throw;
	}
}

int main()
{
	int caught = 0;
	for (int i = 0; i < 3; i++) {
		try {
			too_large();
		} catch (const std::bad_alloc &) {
			caught++;
		}
		try {
			rethrow(4);
		} catch (const std::runtime_error &) {
			caught += 10;
		}
	}
	void *none = ::operator new(~std::size_t(0) / 4, std::nothrow);
	std::printf("caught %d %s\n", caught, none ? "not null" : "null");
}
