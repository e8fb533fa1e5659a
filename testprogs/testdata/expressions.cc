// Expressions of C++ that call functions of the program, and those that hdb refuses.
//build: -std=c++17
#include <cstdio>
#include <memory>

enum Mode { read_ok = 1, write_ok = 2, run_ok = 4 };

struct Counter {
	virtual ~Counter() {}
	virtual int step(int n) { return count += n; }
	int twice() const { return 2 * count; }
	int count = 0;
	unsigned small : 3;
};

struct Fast : Counter {
	int step(int n) override { return count += 10 * n; }
	int spare = 1;
};

struct NoBool {
	int n = 3;
};

int (Counter::*virtual_step)(int) = &Counter::step;
int (Counter::*plain_twice)() const = &Counter::twice;
int Counter::*member = &Counter::count;
Mode mode = Mode(read_ok | run_ok);
std::unique_ptr<int[]> numbers;
char name[8] = "abc";
wchar_t wide[6] = L"wide";
double ratio = 0.5;

static int add(int a, int b)
{
	return a + b;
}

static int work(Counter &c, NoBool nothing)
{
	int x[4] = { 1, 2, 3, 4 };
	return c.step(1) + c.twice() + add(x[0], x[1]) + nothing.n; // line: work
}

int main()
{
	Fast fast;
	fast.small = 5;
	numbers.reset(new int[3] { 7, 8, 9 });
	int sum = work(fast, NoBool()) + (fast.*virtual_step)(1) + (fast.*plain_twice)() + fast.*member;
	std::printf("%d\n", sum + name[0] + wide[0] + mode + int(ratio));
	return 0;
}
