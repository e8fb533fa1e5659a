// kinds allocates in ways that conditions tell apart by kind, function and alignment.
#include <cstdlib>
#include <memory>
#include <new>

struct Foo {
	int values[40];
	explicit Foo(int i) { values[0] = i; }
};

static void *volatile keep;

int main() {
	for (int i = 0; i < 5; i++)
		std::make_unique<Foo>(i);
	for (int i = 0; i < 3; i++) {
		keep = malloc(300 + i);
		free(keep);
	}
	keep = aligned_alloc(64, 640);
	free(keep);
	keep = operator new(256, std::align_val_t(128));
	operator delete(keep, std::align_val_t(128));
	keep = calloc(0, 5);
	free(keep);
	keep = calloc(5, 0);
	free(keep);
}
