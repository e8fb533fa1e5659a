/* Maps a page of its own code once more, far from the program, as V8 does. */
#include <fcntl.h>
#include <sys/mman.h>

__attribute__((noinline)) void hit(void *code) { __asm__ volatile("" : : "r"(code)); }

int main(void)
{
	int f = open("/proc/self/exe", O_RDONLY);
	void *code = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, f, 4096);

	if (code == MAP_FAILED)
		return 1;
	hit(code);
	return 7;
}
