// Threads that allocate and free without an end: blocks of all sizes, aligned ones, mapped ones, in
// arenas with several heaps. Threads end and begin. `churn THREADS [sbrk|nobrk|huge]`: the main thread takes
// memory by sbrk itself, or stops the main arena from growing.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static char mode = '-';

struct random_bits {
	uint64_t s;
	uint64_t next() { s ^= s << 13; s ^= s >> 7; s ^= s << 17; return s; }
	uint64_t below(uint64_t n) { return next() % n; }
};

static size_t some_size(random_bits &r)
{
	switch (r.below(1000)) {
	case 0: return 150000 + r.below(400000);
	case 1: case 2: case 3: return 20000 + r.below(60000);
	default:
		if (r.below(10) == 0)
			return r.below(9000);
		return r.below(300);
	}
}

static void *make(random_bits &r)
{
	size_t n = some_size(r);
	switch (r.below(40)) {
	case 0: return aligned_alloc(size_t(32) << r.below(8), n);
	case 1: return calloc(1, n);
	case 2: return n > 100000 ? aligned_alloc(size_t(1) << (12 + r.below(6)), n) : malloc(n);
	default: return malloc(n);
	}
}

static void *work(void *arg)
{
	uint64_t seed = (uint64_t)arg;
	random_bits r{seed * 0x9e3779b97f4a7c15u + 1};
	const size_t most = 20000;
	void **live = (void **)calloc(most, sizeof *live);
	uint64_t rounds = seed % 3 == 2 ? 200000 : UINT64_MAX; // this one ends, and another one begins
	for (uint64_t i = 0; i < rounds; i++) {
		void *&p = live[r.below(most)];
		if (!p)
			p = make(r);
		else if (r.below(8) == 0)
			p = realloc(p, some_size(r));
		else
			free(p), p = nullptr;
		if (mode == 's' && seed == 0 && i % 20000 == 777) { // memory of its own, which looks like nothing in particular
			char *q = (char *)sbrk(4096 + r.below(3) * 24);
			if (q != (char *)-1)
				memset(q, 'x', 4096);
		}
		if (mode == 'n' && seed == 0 && i == 1000) {
			char *end = (char *)(((uintptr_t)sbrk(0) + 4095) & ~(uintptr_t)4095);
			mmap(end + (1 << 20), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		}
	}
	for (size_t i = 0; i < most; i++)
		free(live[i]);
	free(live);
	pthread_t next;
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	pthread_create(&next, &a, work, (void *)(seed + 3000));
	return nullptr;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 8;
	if (argc > 2)
		mode = argv[2][0];
	for (long i = 1; i < threads; i++) {
		pthread_t t;
		pthread_create(&t, nullptr, work, (void *)i);
	}
	work((void *)0);
}
