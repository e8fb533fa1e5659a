// A program that is sent elsewhere: exceptions, a signal, functions to return from and to skip.
//build: -O0
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>

static int signals;

static void on_signal(int) { signals++; }

int twice(int n) { return 2 * n; }

double half(double x) { return x / 2; }

int check(int n) {
	if (n > 3)
		throw std::runtime_error("too many");
	if (n == 2)
		throw std::string("two");
	return n;
}

int attempt(int n) {
	try {
		return check(n);
	} catch (const std::runtime_error &e) {
		return -1;
	} catch (const std::string &) {
		return -2;
	}
}

int main() {
	signal(SIGUSR1, on_signal);
	int sum = 0;
	for (int i = 0; i < 6; i++)
		sum += attempt(i) + twice(i);
	double h = half(sum);
	raise(SIGUSR1);
	printf("%d %g %d\n", sum, h, signals);
	return 0;
}
