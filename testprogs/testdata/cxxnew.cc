// The forms of operator new and delete; each also calls malloc inside.
#include <cstdio>
#include <memory>
#include <new>

struct alignas(128) Wide {
	char room[256];
};

int main()
{
	int *one = new int(1);
	int *many = new int[100];
	auto *wide = new Wide;
	auto *wides = new Wide[3];
	char *quiet = new (std::nothrow) char[50];
	auto shared = std::make_shared<Wide>();
	std::printf("%d\n", *one);
	delete[] quiet;
	delete[] wides;
	delete wide;
	delete[] many;
	delete one;
}
