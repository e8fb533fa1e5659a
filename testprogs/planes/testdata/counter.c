// A library to preload: it counts the calls of each allocator function, frees
// of something only, in the file that COUNTER names, which it maps. So the
// counts are whole however the program ends.
//
// The C library's own malloc calls no function of here, so that each call of
// the program is counted once; but operator new, strdup and their like call
// malloc. Nothing in here allocates, or needs to look up a symbol.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

// One number of the file each, in this order.
enum { MALLOC, CALLOC, REALLOC, REALLOCARRAY, ALIGNED, FREE, FUNCTIONS };

static atomic_long unmapped[FUNCTIONS];
static atomic_long *_Atomic counts = unmapped;

// start runs before the constructors of the program, but maybe after calls.
__attribute__((constructor(101))) static void start(void)
{
	const char *path = getenv("COUNTER");
	int fd = path ? open(path, O_RDWR | O_CREAT, 0644) : -1;
	if (fd < 0 || ftruncate(fd, sizeof unmapped) != 0)
		_exit(99);
	atomic_long *file = mmap(NULL, sizeof unmapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file == MAP_FAILED)
		_exit(99);
	close(fd);
	for (int i = 0; i < FUNCTIONS; i++)
		file[i] = unmapped[i];
	counts = file;
}

static void *counted(int function, void *p)
{
	counts[function]++;
	return p;
}

void *malloc(size_t n) { return counted(MALLOC, __libc_malloc(n)); }
void *calloc(size_t n, size_t size) { return counted(CALLOC, __libc_calloc(n, size)); }
void *realloc(void *p, size_t n) { return counted(REALLOC, __libc_realloc(p, n)); }
void *memalign(size_t align, size_t n) { return counted(ALIGNED, __libc_memalign(align, n)); }
void *aligned_alloc(size_t align, size_t n) { return counted(ALIGNED, __libc_memalign(align, n)); }
void *valloc(size_t n) { return counted(ALIGNED, __libc_memalign(4096, n)); }
void *pvalloc(size_t n) { return counted(ALIGNED, __libc_memalign(4096, (n + 4095) & ~(size_t)4095)); }

// The C library's own reallocarray would call the realloc above.
void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;
	if (!__builtin_mul_overflow(n, size, &bytes))
		return counted(REALLOCARRAY, __libc_realloc(p, bytes));
	errno = ENOMEM;
	return counted(REALLOCARRAY, NULL);
}

int posix_memalign(void **out, size_t align, size_t n)
{
	int valid = align && align % sizeof(void *) == 0 && (align & (align - 1)) == 0;
	void *p = counted(ALIGNED, valid ? __libc_memalign(align, n) : NULL);
	if (p)
		*out = p;
	return p ? 0 : valid ? ENOMEM : EINVAL;
}

void free(void *p)
{
	if (p)
		counts[FREE]++;
	__libc_free(p);
}
