// A library to preload: it stops the clock that seeds libxml2's hashes, on
// which the number of its allocations depends.
#include <time.h>

time_t time(time_t *out)
{
	if (out)
		*out = 1700000000;
	return 1700000000;
}
