// A program whose operator new has a header in front of each block: what operator delete gives
// back is not what it is given, and nothing is wrong with that.
//build: -O0 -std=c++17
#include <cstdlib>
#include <map>
#include <new>
#include <string>

void *operator new(size_t size)
{
	size_t *p = static_cast<size_t *>(malloc(size + 16));
	*p = size;
	return p + 2;
}

void operator delete(void *p) noexcept
{
	if (p)
		free(static_cast<size_t *>(p) - 2);
}

void operator delete(void *p, size_t) noexcept
{
	operator delete(p);
}

int main()
{
	for (int i = 0; i < 100; i++) {
		void *plain = malloc(48 + 16 * (i % 5));
		std::map<int, std::string> m;
		for (int j = 0; j < 20; j++)
			m[j] = std::string(10 * j, 'x');
		free(plain);
		delete[] new long[2];
		delete new long;
	}
	return 0;
}
