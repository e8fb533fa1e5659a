// As unhurt.c, with new and delete, and an exception in each round.
#include <cstdio>
#include <memory>
#include <string>
#include <unistd.h>

volatile long total;

__attribute__((noinline)) static void work(long n)
{
	std::unique_ptr<char[]> p(new char[n]);
	p[n - 1] = 1;
	std::string s(n / 2, 'a');
	s += s;
	total += p[n - 1] + s[0];
	try {
		throw n;
	} catch (long) {
		total++;
	}
}

int main(int argc, char **argv)
{
	std::puts("ready");
	std::fflush(stdout);
	for (int i = 0; i < 5 || (argc > 1 && access(argv[1], F_OK)); i++) {
		work(16000);
		usleep(1000);
	}
	std::puts("fine");
	return total > 0 ? 7 : 1;
}
