//build: -O1 -fno-builtin
// Exceptions and longjmp leave operator new, and new-handlers allocate, free
// and give up, ROUNDS times. What did not return is counted as abandoned. The
// calls of malloc and free that the C++ library makes for exceptions are not
// counted; the program itself frees a reserve of RESERVE bytes in each round.
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

enum { RESERVE = 5000 };

static long news, arrays, deletes, array_deletes, reserves, abandoned, wrong;
static volatile size_t huge = SIZE_MAX / 4;
static volatile bool fail = true;
static char *reserve;
static jmp_buf out;

struct Failing {
	char room[200];
	Failing()
	{
		if (fail)
			throw std::runtime_error("constructor");
	}
};

struct Third {
	static int made, gone;
	char room[16];
	Third()
	{
		if (++made % 3 == 0)
			throw std::runtime_error("third");
	}
	~Third() { gone++; }
};
int Third::made, Third::gone;

__attribute__((noinline)) static void bad_alloc()
{
	char *kept = new char[100];
	arrays++;
	memset(kept, 7, 100);
	try {
		arrays++;
		abandoned++;
		wrong += new char[huge] != nullptr;
		wrong++;
	} catch (const std::bad_alloc &) {
	}
	arrays++;
	wrong += new (std::nothrow) char[huge] != nullptr;
	wrong += kept[99] != 7;
	delete[] kept;
	array_deletes++;
}

__attribute__((noinline)) static void constructors()
{
	try {
		news++;
		deletes++; // of the room whose constructor failed
		new Failing;
		wrong++;
	} catch (const std::runtime_error &) {
	}
	try {
		arrays++;
		array_deletes++;
		Third::made = Third::gone = 0;
		new Third[5];
		wrong++;
	} catch (const std::runtime_error &) {
		wrong += Third::gone != 2;
	}
}

// give_up frees a reserve the first time, allocates a little, and then throws.
static void give_up()
{
	char *note = static_cast<char *>(malloc(60));
	strcpy(note, "out of memory");
	if (reserve != nullptr) {
		free(reserve);
		reserve = nullptr;
	} else {
		free(note);
		throw std::bad_alloc();
	}
	free(note);
}

static void jump()
{
	longjmp(out, 1);
}

__attribute__((noinline)) static void handlers()
{
	reserve = static_cast<char *>(malloc(RESERVE));
	reserves++;
	std::set_new_handler(give_up);
	try {
		news++;
		abandoned++;
		wrong += ::operator new(huge) != nullptr;
		wrong++;
	} catch (const std::bad_alloc &) {
		wrong += reserve != nullptr;
	}
	std::set_new_handler(jump);
	if (setjmp(out) == 0) {
		news++;
		abandoned++;
		wrong += ::operator new(huge) != nullptr;
		wrong++;
	}
	std::set_new_handler(nullptr);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10;
	for (int i = 0; i < rounds; i++) {
		bad_alloc();
		constructors();
		handlers();
	}
	delete new char; // by now it is known that the calls before did not return
	news++;
	deletes++;
	printf("rounds %d wrong %ld\n", rounds, wrong);
	printf("abandoned %ld reserves %ld\n", abandoned, reserves);
	printf("calls operator_new %ld operator_new[] %ld operator_delete %ld operator_delete[] %ld\n",
	       news, arrays, deletes, array_deletes);
	return wrong != 0;
}
