// Containers whose memory is nonsense.
#include <cstring>
#include <unistd.h>
#include <list>
#include <map>
#include <string>
#include <vector>
struct node { node *next; int v; };
int main()
{
	std::string longest = "x", esc = "a\033[31m\n\x07";
	std::vector<int> back{1, 2, 3}, huge{1};
	std::list<int> ring{1, 2}, cut{1, 2, 3};
	std::map<int, int> many{{1, 2}};
	node self{&self, 1};
	size_t n = ~0ull >> 1;
	memcpy((char *)&longest + 8, &n, 8);
	void *p = (char *)back.data() - 8;
	memcpy((char *)&back + 8, &p, 8);
	p = (void *)0x7000000000000000;
	memcpy((char *)&huge + 8, &p, 8);
	memcpy((char *)&huge + 16, &p, 8);
	void **first = *(void ***)&ring;
	*first = first;
	n = 1000000000;
	memcpy((char *)&ring + 16, &n, 8);
	*(void ***)*(void ***)&cut = (void **)16;
	memcpy((char *)&many + 40, &n, 8);
	asm volatile("" : : "r"(&self), "r"(&huge), "r"(&many) : "memory"); // stop
	_exit(0);
}
