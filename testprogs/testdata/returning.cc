// Functions that return objects by value: what these lead to is the caller's, and no block that a call has left.
//build: -O0
#include <map>
#include <memory>
#include <stdlib.h>
#include <string>
#include <vector>

#define NOINLINE extern "C++" __attribute__((noinline))

void *kept[100];
int n;

NOINLINE std::string text(bool leave)
{
	std::string s(500, 'x');
	if (leave)
		kept[n++] = malloc(77);
	return s;
}

NOINLINE std::vector<std::string> list(bool leave)
{
	std::vector<std::string> v;
	for (int i = 0; i < 9; i++)
		v.push_back(std::string(100, 'y'));
	if (leave)
		kept[n++] = malloc(88);
	return v;
}

NOINLINE std::map<int, std::vector<std::string>> tree(bool leave)
{
	std::map<int, std::vector<std::string>> m;
	for (int i = 0; i < 20; i++)
		m[i] = {std::string(50, 'z')};
	if (leave)
		kept[n++] = malloc(99);
	return m;
}

struct counted {
	size_t count;
	char *at;
};

NOINLINE counted two(bool leave)
{
	counted c = {3, static_cast<char *>(malloc(33))};
	if (leave)
		kept[n++] = malloc(111);
	return c;
}

struct holder {
	void *scratch;
};

// itself returns its first argument, and leaves what it has put into it: with debug information that is
// no object of the caller's.
NOINLINE holder *itself(holder *h)
{
	h->scratch = malloc(44);
	return h;
}

int main()
{
	holder h;
	for (bool leave : {false, true}) {
		text(leave);
		list(leave);
		tree(leave);
		free(two(leave).at);
	}
	itself(&h);
	return 0;
}
