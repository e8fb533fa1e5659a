// A heap that is a random tree: each block but the first is pointed to by one word of a block made
// before it, but for one in 5,000, which is lost with what it leads to. Built with -fsanitize=leak
// it times a check of LeakSanitizer; else it writes a table of its blocks and stops itself.
//
//   tree BLOCKS TABLE
//
// It prints what it took, in seconds, and how many blocks were reached and lost.

#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#ifdef LEAK
int __lsan_do_recoverable_leak_check(void);
#endif

struct entry { uint64_t addr, size; };

static void **volatile root;
static uint64_t state = 88172645463325252ULL;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static double cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static long peak(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

// build leaves no pointer but the root's and those of the tree: the table is neither
// block nor root of LeakSanitizer.
static __attribute__((noinline)) void build(size_t n, const char *file)
{
	struct entry *table = mmap(0, n * sizeof *table, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (table == MAP_FAILED)
		exit(1);
	for (size_t i = 0; i < n; i++) {
		size_t words = 2 + next() % 98;
		void **b = malloc(words * 8);
		memset(b, 0, words * 8);
		table[i].addr = (uint64_t)b;
		table[i].size = words * 8;
		if (i == 0) {
			root = b;
			continue;
		}
		if (next() % 5000 == 0)
			continue;
		for (;;) {
			struct entry *up = &table[next() % i];
			void **at = (void **)up->addr + next() % (up->size / 8);
			if (*at == 0) {
				*at = b;
				break;
			}
		}
	}
	if (file) {
		FILE *f = fopen(file, "w");
		if (!f || fwrite(table, sizeof *table, n, f) != n || fclose(f))
			exit(1);
	}
	memset(table, 0, n * sizeof *table);
	munmap(table, n * sizeof *table);
}

static __attribute__((noinline)) void wipe(void)
{
	volatile char stack[1 << 14];
	memset((char *)stack, 0, sizeof stack);
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return 1;
	build(strtoul(argv[1], 0, 0), argc > 2 ? argv[2] : 0);
	wipe();
#ifdef LEAK
	long before = peak();
	double from = now();
	int found = __lsan_do_recoverable_leak_check();
	double took = now() - from;
	printf("check_s %.3f\nmore_kb %ld\nfound %d\n", took, peak() - before, found);
	fflush(stdout);
	_exit(0);
#else
	printf("root %p\n", (void *)&root);
	fflush(stdout);
	raise(SIGSTOP);
	_exit(0);
#endif
}
