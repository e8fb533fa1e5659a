// Leaks that files of suppressions are about: of a constructor that its class's derived one calls, of a template, of a C library's
// function, of a function that calls itself. One block is held. at_rest is called when all are made.
//build: -O1 -g -fno-inline -fno-optimize-sibling-calls
#include <cstdlib>
#include <cstring>

struct Base {
	char *name;
	Base() { name = static_cast<char *>(malloc(100)); }
	virtual ~Base() {}
};

struct Derived : Base {
	char *more;
	explicit Derived(int n) { more = static_cast<char *>(malloc(n)); }
};

template <class T> struct Box {
	T *items;
	Box() { items = new T[10]; }
};

char *kept;

static void lose(int n)
{
	Derived *d = new Derived(n);
	d->name = d->more = nullptr;
	asm volatile("" : : "r"(d) : "memory");
}

static void lose_box()
{
	Box<int> box;
	asm volatile("" : : "r"(&box) : "memory");
	box.items = nullptr;
	asm volatile("" : : "r"(&box) : "memory");
}

static void lose_copy(const char *text)
{
	char *copy = strdup(text);
	asm volatile("" : : "r"(copy) : "memory");
}

static void lose_deep(int depth)
{
	if (depth > 0)
		return lose_deep(depth - 1);
	void *block = calloc(3, 7);
	asm volatile("" : : "r"(block) : "memory");
}

// forget leaves nothing of the blocks in the stack below main and in registers.
static void forget()
{
	char room[512];
	memset(room, 0, sizeof room);
	asm volatile("xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx\n\txor %%esi, %%esi\n\txor %%edi, %%edi\n\t"
		     "xor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\txor %%r11d, %%r11d"
		     : : "r"(room) : "memory", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}

extern "C" void at_rest()
{
	asm volatile("");
}

int main()
{
	kept = static_cast<char *>(realloc(malloc(10), 2000));
	for (int i = 0; i < 3; i++) {
		lose(10 + i);
		lose_box();
		lose_deep(i);
		lose_copy("twelve bytes");
	}
	forget();
	at_rest();
}
