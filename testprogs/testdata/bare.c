//build: -O1
// Maps memory with and without libc's functions. The sizes tell the calls apart.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096L

/* A system call of the program's own, as allocators in assembly make it. */
__attribute__((noinline)) static long call(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return r;
}

static long pages(long n)
{
	return call(SYS_mmap, 0, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static int bad;

static void grow(void)
{
	long end = call(SYS_brk, 0, 0, 0, 0, 0, 0);
	bad += call(SYS_brk, end + 7 * PAGE, 0, 0, 0, 0, 0) != end + 7 * PAGE;
	*(volatile char *)(end + 6 * PAGE) = 1;
	bad += call(SYS_brk, end + 3 * PAGE, 0, 0, 0, 0, 0) != end + 3 * PAGE;
	bad += call(SYS_brk, end, 0, 0, 0, 0, 0) != end;
}

int main(void)
{
	grow(); /* before malloc takes the break for its own */
	char *volatile large = malloc(1 << 20); /* libc maps it for itself */
	char *a = (char *)pages(11);
	a[10 * PAGE] = 1;
	a = (char *)call(SYS_mremap, (long)a, 11 * PAGE, 23 * PAGE, MREMAP_MAYMOVE, 0, 0);
	bad += a[10 * PAGE] != 1;
	bad += syscall(SYS_munmap, a, 23 * PAGE) != 0;
	void *b = mmap(NULL, 31 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bad += call(SYS_munmap, (long)b, 31 * PAGE, 0, 0, 0, 0) != 0;
	void *c = (void *)syscall(SYS_mmap, NULL, 43 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
	bad += munmap(c, 43 * PAGE) != 0;
	bad += pages(0) != -22; /* EINVAL */
	free(large);
	printf("bad %d\n", bad);
	return bad != 0;
}
