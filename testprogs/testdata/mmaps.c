//build: -O1
// Maps memory by a function whose fourth argument is flags: the kernel takes it in r10, C in rcx.
#include <sys/mman.h>

__attribute__((noinline)) static void *map(long size, int prot, int offset, int flags)
{
	register long r10 __asm__("r10") = flags;
	register long r8 __asm__("r8") = -1;
	register long r9 __asm__("r9") = offset;
	void *p;
	__asm__ volatile("syscall" : "=a"(p) : "0"(9L), "D"(0L), "S"(size), "d"((long)prot), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return p;
}

int main(void)
{
	return map(4096, PROT_READ, 0, MAP_PRIVATE | MAP_ANONYMOUS) == MAP_FAILED;
}
