// Blocks that begin with words which are nearly those of objects: addresses in and around virtual tables, of code,
// of the block itself, of nothing. None of them is an object.
//build: -O0
#include <cstdint>
#include <cstdlib>
#include <typeinfo>

struct Base {
	virtual ~Base() {}
	virtual int value() { return 1; }
	long a[3];
};

struct Other {
	virtual ~Other() {}
	virtual int other() { return 2; }
	long b[2];
};

struct Derived : Base, Other {
	int value() override { return 3; }
	int other() override { return 4; }
	long c[5];
};

enum { BLOCKS = 600 };

static void *blocks[BLOCKS];
static uintptr_t zeros[64];
static uint64_t state = 12345;

static uint64_t next(void)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return state >> 20;
}

// table is the address of a class's functions.
static uintptr_t table(const void *object) { return *static_cast<const uintptr_t *>(object); }

__attribute__((noipa)) static uintptr_t *words(int i) { return static_cast<uintptr_t *>(blocks[i]); }

extern "C" __attribute__((noipa)) void blocks_made(void) {}

int main()
{
	static Base base;
	static Other other;
	static Derived derived;
	static const size_t sizes[] = {sizeof(Base), sizeof(Other), sizeof(Derived), 8, 16, 40, 4096};
	uintptr_t tables[] = {table(&base), table(&other), table(&derived)};
	for (int i = 0; i < BLOCKS; i++) {
		size_t size = sizes[next() % 7];
		blocks[i] = malloc(size); // nothing tells what it is
		uintptr_t *p = words(i);
		for (size_t k = 0; k < size / 8; k++)
			p[k] = next() << (next() % 40);
		uintptr_t t = tables[next() % 3];
		switch (next() % 10) {
		case 0: p[0] = t + 8; break;              // within the table
		case 1: p[0] = t - 8; break;              // the typeinfo
		case 2: p[0] = t - 16; break;             // the beginning of the table
		case 3: p[0] = t + 1 + next() % 7; break; // not aligned
		case 4: p[0] = reinterpret_cast<uintptr_t>(p); break;
		case 5: p[0] = reinterpret_cast<uintptr_t>(zeros + 4 + next() % 32); break;
		case 6: p[0] = reinterpret_cast<uintptr_t>(&typeid(Derived)); break;
		case 7: p[0] = reinterpret_cast<uintptr_t>(&main); break;
		case 8: p[0] = static_cast<uintptr_t>(-8) - 8 * (next() % 4); break;
		case 9: p[0] = 8 * (next() % 4); break;
		}
	}
	blocks_made();
	return 0;
}
