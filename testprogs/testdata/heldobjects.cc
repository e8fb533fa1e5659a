// Objects of C++ that are held by pointers behind the beginnings of their blocks, and lost ones. The
// function that allocates a block says how it is held, as in held.c.
//build: -pthread -O0 -g -D_GLIBCXX_USE_CXX11_ABI=0
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline, noclone))

struct counted {
	long value = 1;
	~counted() { value = 0; }
};

struct first {
	virtual ~first() {}
	long a[4] = {};
};

struct second {
	virtual ~second() {}
	long b = 2;
};

struct both : first, second {
	void *held = nullptr;
};

struct link {
	std::shared_ptr<link> other;
	char pad[100];
};

static counted *array;
static second *base;
static std::string *text;
static std::vector<void *> *list;
static std::map<int, void *> tree;
static std::shared_ptr<link> shared;
static char *middle;

static NOINLINE counted *keep_array() { return new counted[7]; }
static NOINLINE both *keep_second_base() { return new both; }
static NOINLINE void *keep_in_object() { return malloc(1101); }
static NOINLINE std::string *keep_string() { return new std::string(300, 'x'); }
static NOINLINE std::vector<void *> *keep_vector() { return new std::vector<void *>(10); }
static NOINLINE void *keep_in_vector() { return malloc(1102); }
static NOINLINE void *keep_in_tree() { return malloc(1103); }
static NOINLINE std::shared_ptr<link> keep_shared() { return std::make_shared<link>(); }

static NOINLINE char *maybe_middle() { return new char[2101]; }

static NOINLINE both *lose_object() { return new both; }
static NOINLINE void *under_object() { return malloc(3101); }
static NOINLINE counted *lose_array() { return new counted[9]; }

static NOINLINE void make()
{
	array = keep_array();
	both *b = keep_second_base();
	b->held = keep_in_object();
	base = b;
	text = keep_string();
	list = keep_vector();
	(*list)[3] = keep_in_vector();
	tree[5] = keep_in_tree();
	shared = keep_shared();
	middle = maybe_middle() + 1000;
	lose_array();
	b = lose_object();
	b->held = under_object();
	b = nullptr;
}

static NOINLINE void wipe()
{
	volatile char dirt[64 << 10];
	for (size_t i = 0; i < sizeof dirt; i++)
		dirt[i] = 0;
}

extern "C" NOINLINE void at_rest()
{
	asm volatile("");
}

// The leak checker of valgrind looks here, see held.c.
static NOINLINE void ask_checkers()
{
	volatile unsigned long request[6] = {0x4d430006};
	unsigned long result = 0;
	asm volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi; xchgq %%rbx, %%rbx"
		: "+d"(result) : "a"(request) : "cc", "memory");
}

int main()
{
	make();
	wipe();
	ask_checkers();
	asm volatile("xorl %%eax, %%eax; xorl %%ecx, %%ecx; xorl %%edx, %%edx; xorl %%esi, %%esi; xorl %%edi, %%edi;"
		"xorl %%r8d, %%r8d; xorl %%r9d, %%r9d; xorl %%r10d, %%r10d; xorl %%r11d, %%r11d"
		::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"); // where old addresses may stand
	at_rest();
}
