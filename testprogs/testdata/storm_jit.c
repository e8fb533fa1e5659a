//build: -O1 -fno-builtin
// Generated code calls malloc and free, ROUNDS times: a function that keeps a
// frame pointer, and one that keeps none and overwrites rbp, each written to
// a page of its own that is unmapped in the end.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef void *(*function)(void *);

// with_frame is: push rbp; mov rbp, rsp; mov rax, TARGET; call rax; pop rbp; ret
static const unsigned char with_frame[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3};

// without_frame is: push rbp; xor ebp, ebp; mov rax, TARGET; call rax; pop rbp; ret
static const unsigned char without_frame[] = {0x55, 0x31, 0xed, 0x90, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x5d, 0xc3};

static function generate(const unsigned char *code, size_t n, void *target)
{
	unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(page, code, n);
	memcpy(page + 6, &target, 8);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	return (function)page;
}

__attribute__((noinline)) static int use(function allocate, function release, int n)
{
	unsigned char *p = allocate((void *)(uintptr_t)(80 + n % 80));
	memset(p, n, 80 + n % 80);
	int bad = p[79 + n % 80] != (unsigned char)n;
	release(p);
	return bad;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10, wrong = 0;
	for (int i = 0; i < rounds; i++) {
		function f[] = {
			generate(with_frame, sizeof with_frame, malloc), generate(with_frame, sizeof with_frame, free),
			generate(without_frame, sizeof without_frame, malloc), generate(without_frame, sizeof without_frame, free),
		};
		for (int k = 0; k < 5; k++) {
			wrong += use(f[0], f[1], k);
			wrong += use(f[2], f[3], k);
		}
		for (int k = 0; k < 4; k++)
			munmap(f[k], 4096);
	}
	printf("wrong %d\n", wrong);
	printf("calls malloc %d free %d mmap %d munmap %d\n", 10 * rounds, 10 * rounds, 4 * rounds, 4 * rounds);
	return wrong;
}
