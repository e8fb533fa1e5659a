// Containers whose nodes begin with a base that has only links.
#include <list>
#include <unordered_map>

struct Entry {
	long values[4];
};

static std::unordered_map<int, Entry> table;
static std::list<Entry> entries;

__attribute__((noinline)) void at_rest()
{
	asm volatile("");
}

int main()
{
	for (int i = 0; i < 3; i++)
		table[i].values[0] = i;
	entries.push_back(Entry());
	at_rest();
}
