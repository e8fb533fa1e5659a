#include <stdint.h>

// A chain is calls that lead from one to the next as the bits of path say, and what they
// were called, from the outermost on.
struct chain {
	uint64_t path;
	int left;       // calls to come
	int size;       // of the block that the last one allocates
	int count;      // names
	const char *names[80];
};

void c_one(struct chain *c);
void c_two(struct chain *c);
void c_thread(struct chain *c);
