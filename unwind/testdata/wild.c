// Jumps through NULL and code that a program wrote itself.
#include <string.h>
#include <sys/mman.h>

__attribute__((noinline)) void stop_here(void) { __asm__ volatile("" ::: "memory"); }

__attribute__((noinline)) int call(void (*f)(void), int n) { f(); return n; }

int main(int argc, char **argv)
{
	// push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret
	static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
	void *p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(p, code, sizeof code);
	((void (*)(void (*)(void)))p)(stop_here);
	return call(0, argc) + 1;
}
