// numbers makes calls whose part in the count of events is hard to tell, and marks by
// malloc(4711), malloc(4712) and so on where it is: threads end and give their caches back,
// libc frees blocks for them, and operator new fails in all its ways. With -DOWN operator new
// is the program's and throws what no malloc was asked for.
//build: -pthread
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>

static void *volatile keep;
static void *reserve;
static pthread_key_t key;
static bool refuse;

#ifdef OWN
void *operator new(size_t n) {
	void *p = refuse ? nullptr : malloc(n);
	if (p == nullptr)
		throw std::bad_alloc();
	return p;
}

void operator delete(void *p) noexcept { free(p); }
void operator delete(void *p, size_t) noexcept { free(p); }
#endif

static void mark() {
	static size_t size = 4711;
	keep = malloc(size++);
}

static void *churn(void *) {
	for (size_t i = 0; i < 50; i++) {
		keep = malloc(16 + i % 40 * 8);
		free(keep);
	}
	return nullptr;
}

static void *library(void *) {
	if (FILE *f = fopen("/dev/null", "w"))
		fclose(f); // libc frees it, in a thread that is not the first
	pthread_setspecific(key, malloc(100)); // freed by libc when the thread ends,
	strerror(4711);                        // as is what this keeps
	return nullptr;
}

static void run(void *(*f)(void *)) {
	pthread_t id;
	if (pthread_create(&id, nullptr, f, nullptr) == 0)
		pthread_join(id, nullptr);
}

static void handler() {
	if (reserve == nullptr)
		throw std::bad_alloc();
	free(reserve);
	reserve = nullptr;
	free(malloc(200));
}

static void fail(size_t size) {
	for (int i = 0; i < 3; i++) {
		try {
			switch (i) {
			case 0:
				keep = operator new(size);
				break;
			case 1:
				keep = operator new[](size);
				break;
			case 2:
				keep = operator new[](size_t(1) << 60, std::align_val_t(64));
			}
		} catch (std::bad_alloc &) {
		}
	}
	keep = operator new(size, std::nothrow);
	keep = operator new[](size, std::nothrow);
}

int main() {
	pthread_key_create(&key, free);
	for (int i = 0; i < 4; i++) {
		run(churn);
		run(library);
	}
	mark();
	fail(size_t(1) << 60);
	mark();
	refuse = true;
	fail(100);
	refuse = false;
	mark();
	std::set_new_handler(handler);
	for (int i = 0; i < 2; i++) {
		reserve = malloc(64);
		fail(size_t(1) << 60);
	}
	run(churn);
	mark();
	printf("done\n");
}
