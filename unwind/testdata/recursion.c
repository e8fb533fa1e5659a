// Deep recursion without frame pointers, registers saved on the way.
__attribute__((noinline)) int stop_here(int x) { __asm__ volatile("" ::: "memory"); return x; }

__attribute__((noinline)) int down(int n, int a, int b)
{
	if (n == 0)
		return stop_here(a + b);
	int x = down(n - 1, a + n, b ^ n);
	__asm__ volatile("" ::: "memory"); // or the recursion becomes a loop
	return x * a + b + n;
}

int main(int argc, char **argv) { return down(300, argc, 7) & 1; }
