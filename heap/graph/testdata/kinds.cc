// Blocks of all kinds that point to each other at random, for memcheck and for hdb: kinds SEED TABLE.
// With a table it writes its blocks there and stops itself; without it ends, as memcheck wants.
//
// Edges lead to blocks made before, so that no circle depends on which address is the lowest;
// the only circles are of blocks of one size.

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

struct First {
	virtual ~First() {}
	virtual int one() { return 1; }
	void *a = nullptr;
};

struct Second {
	virtual ~Second() {}
	virtual int two() { return 2; }
	void *b = nullptr;
};

struct Both : First, Second {
	int one() override { return 3; }
	int two() override { return 4; }
	void *c = nullptr, *d = nullptr;
};

struct Element {
	~Element() { p = nullptr; }
	void *p = nullptr;
	void *q = nullptr;
};

struct Entry {
	uint64_t addr, size;
};

void *volatile roots[24];

static Entry *table;
static size_t count;
static uint64_t state;

static uint64_t next(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

// made notes a block, with the address that programs keep of it.
static void *made(void *p, size_t size)
{
	table[count++] = Entry{reinterpret_cast<uint64_t>(p), size};
	return p;
}

// some is the address of something made before.
static void *some(void **kept)
{
	if (count == 0)
		return nullptr;
	size_t i = next(count);
	switch (next(5)) {
	case 0:
		return reinterpret_cast<void *>(table[i].addr + next(table[i].size));
	case 1:
		return reinterpret_cast<void *>(table[i].addr);
	case 2:
		return nullptr;
	}
	return kept[i];
}

// Every block is made with the words that it has, as constructors are not to see.
static void *block(void **kept)
{
	switch (next(6)) {
	case 0: {
		auto *b = new Both;
		made(dynamic_cast<void *>(b), sizeof *b);
		b->c = some(kept);
		b->b = some(kept);
		return next(2) ? static_cast<void *>(static_cast<Second *>(b)) : static_cast<void *>(b);
	}
	case 1: {
		size_t n = 1 + next(6);
		auto *e = new Element[n];
		made(reinterpret_cast<char *>(e) - 8, n * sizeof *e + 8);
		e[next(n)].p = some(kept);
		return e;
	}
	case 2: {
		size_t capacity = 8 + next(80);
		size_t size = 24 + capacity + 1;
		auto *w = static_cast<uint64_t *>(made(calloc(1, size), size));
		w[0] = next(capacity + 1);
		w[1] = capacity;
		return w + 3;
	}
	case 3: {
		size_t size = 16 + 8 * next(20);
		auto *w = static_cast<uint64_t *>(made(calloc(1, size), size));
		w[0] = size - 8;
		w[1] = reinterpret_cast<uint64_t>(some(kept));
		return w + 1;
	}
	}
	size_t size = 8 + next(200); // not of whole words
	auto *w = static_cast<char *>(made(calloc(1, size), size));
	for (size_t at = 0; at + 8 <= size; at += 8 + 8 * next(6)) {
		void *p = some(kept);
		memcpy(w + at, &p, 8);
	}
	return w;
}

static void circle(void **kept)
{
	enum { N = 4 };
	void **all[N];
	for (auto &p : all)
		p = static_cast<void **>(made(calloc(1, 64), 64));
	for (int i = 0; i < N; i++) {
		all[i][next(4)] = all[(i + 1) % N];
		all[i][4 + next(4)] = some(kept);
		kept[count - N + i] = all[i];
	}
}

__attribute__((noinline)) static void build(const char *file)
{
	size_t n = 300, bytes = 2 * n * (sizeof(Entry) + sizeof(void *));
	char *place = static_cast<char *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	table = reinterpret_cast<Entry *>(place);
	void **kept = reinterpret_cast<void **>(place + 2 * n * sizeof(Entry));
	while (count < n) {
		if (next(30) == 0) {
			circle(kept);
			continue;
		}
		size_t i = count;
		void *p = block(kept);
		kept[i] = p;
	}
	for (auto &r : roots)
		if (next(3) == 0)
			r = some(kept);
	if (file) {
		FILE *f = fopen(file, "w");
		if (!f || fwrite(table, sizeof *table, count, f) != count || fclose(f))
			exit(1);
	}
	memset(place, 0, bytes);
	munmap(place, bytes);
	table = nullptr;
}

__attribute__((noinline)) static void wipe()
{
	volatile char stack[1 << 15];
	memset(const_cast<char *>(stack), 0, sizeof stack);
}

int main(int argc, char **argv)
{
	state = 88172645463325252ULL + strtoul(argv[1], nullptr, 0) * 7919;
	for (int i = 0; i < 20; i++)
		next(2);
	build(argc > 2 ? argv[2] : nullptr);
	wipe();
	if (argc > 2) {
		printf("roots %p %p\n", reinterpret_cast<void *>(const_cast<void **>(&roots[0])), reinterpret_cast<void *>(const_cast<void **>(&roots[24])));
		fflush(stdout);
		raise(SIGSTOP);
	}
	return 0;
}
