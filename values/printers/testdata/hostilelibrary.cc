// Values of the library whose bytes are nonsense: ones, text, pointers to themselves, huge
// numbers, a pointer to the end of what is mapped.
#include <any>
#include <atomic>
#include <bitset>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <forward_list>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <queue>
#include <set>
#include <stack>
#include <string>
#include <sys/mman.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>
static char *edge;
template <int P, class T> T &junk()
{
	alignas(64) static char b[sizeof(T) + 64];
	memset(b, P == 0 ? 0xff : 'A', sizeof b);
	uintptr_t word = P == 2 ? (uintptr_t)b : P == 3 ? 1ull << 40 : (uintptr_t)(edge - 8);
	if (P >= 2)
		for (size_t i = 0; i < sizeof b; i += 8)
			memcpy(b + i, &word, 8);
	return *(T *)b;
}
#define JUNK(name, ...) auto &name##0 = junk<0, __VA_ARGS__>(), &name##1 = junk<1, __VA_ARGS__>(), &name##2 = junk<2, __VA_ARGS__>(), &name##3 = junk<3, __VA_ARGS__>(), &name##4 = junk<4, __VA_ARGS__>();
int main()
{
	edge = (char *)mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 4096;
	munmap(edge, 4096);
	std::pair<const int, int> complete{1, 2};
	JUNK(vi, std::vector<int>::iterator)
	JUNK(vb, std::vector<bool>::iterator)
	JUNK(li, std::list<int>::iterator)
	JUNK(di, std::deque<int>::iterator)
	JUNK(mi, std::map<int, int>::iterator)
	JUNK(ui, std::unordered_map<int, int>::iterator)
	JUNK(fi, std::forward_list<int>::iterator)
	JUNK(fl, std::forward_list<int>)
	JUNK(ls, std::list<int>)
	JUNK(mp, std::map<int, int>)
	JUNK(um, std::unordered_map<int, int>)
	JUNK(an, std::any)
	JUNK(fn, std::function<int(int)>)
	JUNK(il, std::initializer_list<int>)
	JUNK(bs, std::bitset<4096>)
	JUNK(st, std::stack<int>)
	JUNK(pq, std::priority_queue<int>)
	JUNK(pa, std::filesystem::path)
	JUNK(ec, std::error_code)
	JUNK(mu, std::mutex)
	JUNK(th, std::thread)
	JUNK(cv, std::condition_variable)
	JUNK(ms, std::chrono::milliseconds)
	JUNK(tp, std::chrono::system_clock::time_point)
	JUNK(rw, std::reference_wrapper<int>)
	JUNK(at, std::atomic<int *>)
	JUNK(up, std::unique_ptr<int>)
	JUNK(sp, std::shared_ptr<int>)
	asm volatile("" : : "r"(&vi0) : "memory"); // stop
	_exit(0);
}
