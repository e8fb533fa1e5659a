//build: -O1
// Allocators of a program's own that are C++: in a class, a template and overloaded,
// one that is inlined everywhere, and one that is inlined in places.
#include <cstddef>
#include <cstdio>

#define NOINLINE __attribute__((noinline))
#define INLINE inline __attribute__((always_inline))

static char room[1 << 16];
static size_t used;

namespace app {

class Pool {
public:
	NOINLINE void *get(size_t size);
	NOINLINE void *get(size_t count, size_t size);
	NOINLINE void put(void *block);
	long puts = 0;
};

void *Pool::get(size_t size)
{
	used = (used + 15) & ~(size_t)15;
	if (used + size > sizeof room)
		return nullptr;
	used += size;
	return room + used - size;
}

void *Pool::get(size_t count, size_t size)
{
	return get(count * size);
}

void Pool::put(void *block)
{
	puts += block != nullptr;
}

template <int N> struct Slab {
	NOINLINE void *take(long n) { return used += N * n, room + used - N * n; }
};

} // namespace app

static INLINE void *always(size_t size)
{
	used += size;
	return room + used - size;
}

static INLINE void *partly(size_t size)
{
	used += 2 * size;
	return room + used - size;
}

void *(*volatile chosen)(size_t) = partly;
void *volatile last;

int main()
{
	app::Pool pool;
	app::Slab<32> small;
	app::Slab<64> large;
	for (int i = 1; i <= 3; i++)
		pool.put(pool.get(i * 100));
	small.take(2);
	large.take(3);
	last = always(10);
	last = always(20);
	last = partly(30);
	last = chosen(40);
	printf("puts %ld used %zu\n", pool.puts, used);
	return 0;
}
