//build: -O0
// Names of every width that a table has to hold: long ones that begin and end alike, names of
// characters that take two columns, names with combining marks that take none. Blocks of
// every size are allocated, kept, given back at once, and grown, on two threads.
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace storage::engine::partition {

template <class Key, class Value> class ConcurrentOrderedIndex {
public:
	char *rebuild_partition_from_snapshot(size_t bytes, const char *reason);
	char *rebuild_partition_from_journal(size_t bytes, const char *reason);

private:
	std::map<Key, Value> entries_;
};

template <class Key, class Value>
char *ConcurrentOrderedIndex<Key, Value>::rebuild_partition_from_snapshot(size_t bytes, const char *reason)
{
	entries_.emplace(Key(reason), Value());
	char *p = new char[bytes]; // a comment so long that this line of the source is wider than any terminal the tests have, which lets it wrap by itself
	memset(p, 1, bytes < 4096 ? bytes : 4096);
	return p;
}

template <class Key, class Value>
char *ConcurrentOrderedIndex<Key, Value>::rebuild_partition_from_journal(size_t bytes, const char *reason)
{
	entries_.emplace(Key(reason), Value());
	char *p = static_cast<char *>(malloc(bytes));
	p[0] = reason[0];
	return p;
}

} // namespace storage::engine::partition

struct Settings {
	const char *path = "/srv/search/index/partitions/0000000017/snapshots/2026-11-26T10:00:00/entries.bin";
	std::vector<std::string> names{"first", "a name that is long enough to be on the heap", "third"};
	std::map<int, std::string> table{{1, "one"}, {2, "another text of more than thirty characters"}};
	unsigned long counts[24] = {1048576, 2097152, 3, 4, 5};
	double share = 0.125;
};

using Index = storage::engine::partition::ConcurrentOrderedIndex<std::string, std::vector<std::pair<std::string, unsigned long>>>;

struct Shape {
	virtual ~Shape() {}
	virtual unsigned long surface_in_square_metres(unsigned long factor) { return factor; }
};

Settings settings;
Shape shape;
char *kept[64];
unsigned long *chosen = settings.counts;

char *倉庫の在庫を確保して配送の準備をする(size_t 個数)
{
	return static_cast<char *>(calloc(個数, 2));
}

char *préparer_l_équipe_été(size_t n)
{
	char *p = static_cast<char *>(malloc(n));
	free(p);
	return static_cast<char *>(realloc(malloc(n), 3 * n));
}

void fill(Index &index, int from)
{
	for (int i = from; i < from + 12; i++) {
		kept[i] = index.rebuild_partition_from_snapshot(20000 + 1000 * i, "started by the test of widths");
		kept[i + 24] = 倉庫の在庫を確保して配送の準備をする(30000);
		if (i % 3 == 0)
			kept[i + 48 - from] = préparer_l_équipe_été(12345);
		free(malloc(100000 + i));
	}
}

void ready(int round)
{
	settings.counts[3] += round;
}

int main()
{
	Index index;
	ready(0);
	fill(index, 0);
	ready(1);
	std::thread worker([&] { fill(index, 12); });
	worker.join();
	kept[60] = index.rebuild_partition_from_journal(67947725, "64.8 MiB");
	ready(2);
	delete[] kept[5];
	kept[61] = index.rebuild_partition_from_journal(3 << 20, "3 MiB");
	ready(3);
	return 0;
}
