// Every form of operator new and delete, bad_alloc thrown through operator new,
// a new-handler, and exceptions: the calls a tracer must see go to standard output,
// between two marks as in calls.c. With an argument it leaves out what fails:
// some allocators abort instead of throwing.
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <unistd.h>

static char said[1 << 16];
static size_t length;

static void say(const char *format, ...) {
	va_list ap;
	va_start(ap, format);
	length += vsnprintf(said + length, sizeof said - length, format, ap);
	va_end(ap);
}

static unsigned long at(void *p) { return reinterpret_cast<unsigned long>(p); }

static void plain() {
	void *p = operator new(72);
	say("operator new(72) = 0x%lx\n", at(p));
	say("operator delete(0x%lx)\n", at(p));
	operator delete(p);
	p = operator new[](73);
	say("operator new[](73) = 0x%lx\n", at(p));
	say("operator delete[](0x%lx)\n", at(p));
	operator delete[](p);
	p = operator new(74);
	say("operator new(74) = 0x%lx\n", at(p));
	say("operator delete(0x%lx, 74)\n", at(p));
	operator delete(p, size_t(74));
	p = operator new[](75);
	say("operator new[](75) = 0x%lx\n", at(p));
	say("operator delete[](0x%lx, 75)\n", at(p));
	operator delete[](p, size_t(75));
	p = operator new(76, std::nothrow);
	say("operator new(76) = 0x%lx\n", at(p));
	say("operator delete(0x%lx)\n", at(p));
	operator delete(p, std::nothrow);
	p = operator new[](77, std::nothrow);
	say("operator new[](77) = 0x%lx\n", at(p));
	say("operator delete[](0x%lx)\n", at(p));
	operator delete[](p, std::nothrow);
	operator delete(nullptr);
}

static void aligned() {
	auto a = std::align_val_t(128);
	void *p = operator new(256, a);
	say("operator new(256, 128) = 0x%lx\n", at(p));
	say("operator delete(0x%lx)\n", at(p));
	operator delete(p, a);
	p = operator new[](256, a);
	say("operator new[](256, 128) = 0x%lx\n", at(p));
	say("operator delete[](0x%lx)\n", at(p));
	operator delete[](p, a);
	p = operator new(256, a, std::nothrow);
	say("operator new(256, 128) = 0x%lx\n", at(p));
	say("operator delete(0x%lx, 256)\n", at(p));
	operator delete(p, size_t(256), a);
}

// big is more than any allocator gives; volatile keeps the compiler from knowing.
static volatile size_t big = PTRDIFF_MAX - 4096;
static volatile int depth = 1;

// buried calls f below a frame that may lie over older ones.
static void __attribute__((noinline)) buried(void (*f)()) {
	volatile char room[3000];
	room[depth] = 0;
	f();
	depth = room[depth] + 1;
}

// said_nothrow: libstdc++'s nothrow operator new catches what the other one throws.
static void said_nothrow() {
	say("perhaps malloc(EXCEPTION) = ADDRESS\nperhaps free(ADDRESS)\noperator new(%zu) = NULL\n", (size_t)big);
}

static void throwing() {
	for (int i = 0; i < 3; i++) {
		try {
			void *p = operator new(big);
			say("%p never came\n", p);
		} catch (std::bad_alloc &) {
			// The exception was allocated by malloc inside, is freed by free.
			say("malloc(EXCEPTION) = ADDRESS\noperator new(%zu) did not return\nfree(ADDRESS)\n", (size_t)big);
		}
		void *p = operator new(80);
		say("operator new(80) = 0x%lx\n", at(p));
		say("operator delete(0x%lx, 80)\n", at(p));
		operator delete(p, size_t(80));
	}
	void *p = operator new(big, std::nothrow);
	if (p == nullptr) said_nothrow();
}

static void *reserve, *kept;

static void new_handler() {
	kept = operator new(1000);
	say("operator new(1000) = 0x%lx\n", at(kept));
	say("operator delete(0x%lx)\n", at(reserve));
	operator delete(reserve);
	std::set_new_handler(nullptr);
}

static void handler() {
	reserve = operator new(500);
	say("operator new(500) = 0x%lx\n", at(reserve));
	std::set_new_handler(new_handler);
	void *p = operator new(big, std::nothrow);
	if (p == nullptr) said_nothrow();
}

int main(int argc, char **argv) {
	try {
		throw 1; // the unwinder allocates on its first use
	} catch (int) {
	}
	void *volatile begin = calloc(1, 0xbe61);
	plain();
	aligned();
	buried(plain);
	if (argc == 1) {
		throwing();
		buried(throwing);
		plain();
		handler();
	}
	plain();
	void *volatile end = calloc(1, 0xe17d);
	free(begin);
	free(end);
	return write(1, said, length) == (ssize_t)length ? 0 : 1;
}
