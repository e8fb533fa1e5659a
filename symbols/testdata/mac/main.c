extern int helper(int);
extern int shape(int);
static inline __attribute__((always_inline)) int square(int x) { return x * x + 1; }
static __attribute__((noinline)) int local(int a) {
	int sum = 0;
	for (int i = 0; i < a; i++)
		sum += square(i) + helper(a);
	return sum;
}
int main(int argc, char **argv) { return local(argc) + square(argc + 2) + shape(argc); }
