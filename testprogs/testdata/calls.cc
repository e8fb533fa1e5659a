// Functions to be called from a debugger: numbers, structs, texts, references, and some that
// do not come back.
//build: -O0 -pthread
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <string>
#include <unistd.h>

struct Pair {
	int x, y;
};

struct Big {
	long a[5];
};

int calls;
volatile long spins;

int add(int a, int b) {
	calls++;
	return a + b;
}

double mul(double a, float b) { return a * b; }

Pair pair(int x) { return {x, 2 * x}; }

Big big(long x) { return {{x, x + 1, x + 2, x + 3, x + 4}}; }

int length(const char *s) { return static_cast<int>(strlen(s)); }

void bump(int &n) { n += 10; }

void crash() { *static_cast<volatile int *>(nullptr) = 1; }

int deep(int n) { return n ? deep(n - 1) + 1 : 0; }

char *block(size_t n) { return static_cast<char *>(malloc(n)); }

void leave() { exit(7); }

bool negative(const Pair &p) { return p.x < 0; }

std::string name(int n) { return "item " + std::to_string(n); }

// moved tells whether other threads have run in the meantime.
bool moved() {
	long before = spins;
	usleep(20000);
	return spins != before;
}

void *spin(void *) {
	for (;;)
		spins = spins + 1;
}

int main() {
	pthread_t t;
	pthread_create(&t, nullptr, spin, nullptr);
	Pair p{3, 4};
	int n = 5;
	int (*f)(int, int) = add;
	while (!moved())
		;
	printf("%d\n", add(1, 2)); // here
	free(block(1000));
	if (n == 99) {
		crash(), leave(), bump(n);
		printf("%g %d %ld %d %d %s %d %d\n", mul(2, 3), pair(1).x, big(1).a[0], length("x"), deep(3), name(1).c_str(), negative(p), f(1, 2));
	}
	return 0;
}

std::wstring wide(L"w\u00e4ide");
std::string lines("a\n\"b\" ccccccccccccccccccccccccccccccc");
const wchar_t *chars = L"p\u00e4p";
int places[4];

int place() { return calls++ & 3; }

class Shape {
public:
	virtual ~Shape() {}
	virtual int sides() const { return 0; }
	int with(int n) { return id + n; }
	int with(const char *s) { return id + length(s); }
	int with(long, int) { return 1; }
	int with(int, long) { return 2; }
	static int of(Pair p, Big b) { return p.x + p.y + static_cast<int>(b.a[4]); }
	bool operator<(const Shape &o) const { return sides() < o.sides(); }
	int shown() const __attribute__((always_inline)) { return id; }

private:
	int id = 7;
};

class Square : public Shape {
public:
	int sides() const override { return 4; }
};

Square square;
Shape *shape = &square;
Shape plain;

int use() { return shape->with(1) + shape->with("x") + shape->with(1L, 1) + shape->with(1, 1L) + Shape::of({1, 2}, {}) + (plain < square) + shape->shown(); }
