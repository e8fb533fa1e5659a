#define HEADER_ONLY 77
#define OFFSET (HEADER_ONLY - 70)

static int from_header(int n)
{
	return n + OFFSET;
}

#define AFTER_FUNCTION 1
