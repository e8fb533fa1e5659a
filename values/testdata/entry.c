/* Parameters in vector registers that are dead behind a call: callers know what they
   passed, a constant, memory, what they were passed themselves. */
volatile double sink;

__attribute__((noipa)) void report(int n)
{
	sink += n;
}

__attribute__((noinline, noclone)) int leaf(double number, float single, double stored, float narrowed, double product, long count)
{
	sink = number + single + stored + narrowed + product + count;
	report(1);
	return 1;
}

__attribute__((noinline, noclone)) int caller(double a, double b, float *from)
{
	double kept[3] = {a, b, a * b};
	int r = leaf(2.5, 0.25f, kept[2], (float)b, from[1] * 2, 3);
	report(2);
	sink = kept[0] + kept[1] + kept[2];
	return r;
}

int main(int argc, char **argv)
{
	float pair[2] = {argc, argc + 1.5f};
	int r = caller(3.25, 6.5, pair);
	return r + caller(argc, 8, pair) + (pair[0] == 3);
}
