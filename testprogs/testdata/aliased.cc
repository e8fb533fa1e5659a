// Objects and arrays are made and deleted rightly, until the file that the argument names exists. In
// tcmalloc and mimalloc free, operator delete and operator delete[] are one function.
#include <cstdio>
#include <string>
#include <unistd.h>

struct A {
	int x[20];
	A() { x[0] = 1; }
};

A *volatile one;
int *volatile many;

int main(int argc, char **argv)
{
	do {
		for (int i = 0; i < 3; i++) {
			one = new A;
			delete one;
		}
		for (int i = 0; i < 3; i++) {
			many = new int[100];
			delete[] many;
		}
		std::string s;
		for (int i = 0; i < 100; i++)
			s.append("some text that grows");
	} while (argc > 1 && access(argv[1], F_OK) && !usleep(1000));
	std::puts("ok");
}
