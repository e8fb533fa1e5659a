// A library with a pool of its own, of a static chunk.
#include <stddef.h>
#include "../../annotations/hdb.h"

static char room[1024];
static size_t used;

void *library_get(size_t size)
{
	char *block = room + used;
	used += size;
	HDB_ALLOC(room, block, size);
	HDB_MARK("library");
	return block;
}
