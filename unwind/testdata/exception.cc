// An exception on its way through libstdc++ and libgcc, with clean-ups between.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" __attribute__((noinline)) void stop_here() { __asm__ volatile("" ::: "memory"); }

struct Guard {
	std::string name;
	~Guard() { stop_here(); }
};

__attribute__((noinline)) int thrower(int n)
{
	Guard g{"a name that is too long to be kept inside"};
	std::vector<int> v(n);
	return v.at(n + 1);
}

__attribute__((noinline)) int between(int n)
{
	Guard g{"second"};
	return thrower(n) + 1;
}

int main(int argc, char **)
{
	try {
		return between(argc);
	} catch (const std::out_of_range &e) {
		stop_here();
		return 0;
	}
}
