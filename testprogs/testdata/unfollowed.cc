//build: -static
// Static, and stripped by the tests: no allocator function has a name. Twenty blocks of 1000 to 1019 bytes stay.
#include <cstdio>
#include <cstdlib>
#include <vector>

static std::vector<char *> kept;

int main()
{
	for (int i = 0; i < 20; i++)
		kept.push_back(static_cast<char *>(std::calloc(1, 1000 + i)));
	std::printf("%zu\n", kept.size());
}
