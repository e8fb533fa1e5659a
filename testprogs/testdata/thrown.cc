// Exceptions with contents: a class of the program, an int, a template, and one that is
// thrown again by std::rethrow_exception.
//build: -O0
#include <cstdio>
#include <exception>
#include <string>

struct Refused : std::exception {
	int code;
	std::string why;
	Refused(int c, std::string w) : code(c), why(w) {}
};

template <class T> struct Box {
	T value;
};

int main()
{
	int caught = 0;
	try {
		throw Refused(7, "no room");
	} catch (const std::exception &) {
		caught++;
	}
	try {
		throw 42;
	} catch (int) {
		caught++;
	}
	try {
		throw Box<long>{5};
	} catch (const Box<long> &) {
		caught++;
	}
	try {
		try {
			throw Refused(8, "again");
		} catch (...) {
			caught++;
			std::rethrow_exception(std::current_exception());
		}
	} catch (const std::exception &) {
		caught++;
	}
	std::printf("caught %d\n", caught);
	return 0;
}
