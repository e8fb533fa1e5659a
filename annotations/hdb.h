/* hdb.h - tell hdb, a debugger for memory allocations, what a program is at.
 *
 *     HDB_MARK("phase")                  a mark, as the console's `mark phase`
 *     HDB_BREAK()                        stop here
 *     HDB_PAUSE(), HDB_RESUME()          record no allocations, or record them again
 *
 *     HDB_POOL_CREATE(pool)              pool, any pointer, names an allocator of the program
 *     HDB_ALLOC(pool, ptr, size)         it hands out a block; ptr NULL: it has failed
 *     HDB_REALLOC(pool, old, ptr, size)  the block old is now size bytes at ptr, which may be old
 *     HDB_FREE(pool, ptr)                it takes the block back; call this while the block is still its user's
 *     HDB_POOL_DESTROY(pool)             it takes all of its blocks back
 *
 * Without hdb each is a call of a function that does nothing: five bytes and the arguments, about a
 * nanosecond. No library is needed. C89 and later, C++98 and later, gcc and clang; on other systems than
 * Linux on x86-64, or with HDB_DISABLE defined, nothing is left but the evaluation of the arguments.
 *
 * A block of malloc that a pool cuts its blocks from counts no more once the first of them lies in it. hdb
 * finds the functions by a note in each executable and library that calls them. See docs/annotations.md.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef HDB_H
#define HDB_H 1

#if defined(__linux__) && defined(__x86_64__) && !defined(__ILP32__) && defined(__GNUC__) && !defined(HDB_DISABLE)

#ifdef __cplusplus
extern "C" {
#endif
#define HDB_HIDDEN_ __attribute__((__visibility__("hidden")))
extern HDB_HIDDEN_ void hdb_annotation_mark(const char *hdb_name);
extern HDB_HIDDEN_ void hdb_annotation_break(void);
extern HDB_HIDDEN_ void hdb_annotation_pause(void);
extern HDB_HIDDEN_ void hdb_annotation_resume(void);
extern HDB_HIDDEN_ const volatile void *hdb_annotation_alloc(const volatile void *hdb_pool, const volatile void *hdb_ptr, unsigned long hdb_size);
extern HDB_HIDDEN_ const volatile void *hdb_annotation_realloc(const volatile void *hdb_pool, const volatile void *hdb_ptr, const volatile void *hdb_old, unsigned long hdb_size);
extern HDB_HIDDEN_ void hdb_annotation_free(const volatile void *hdb_pool, const volatile void *hdb_ptr);
extern HDB_HIDDEN_ void hdb_annotation_pool_create(const volatile void *hdb_pool);
extern HDB_HIDDEN_ void hdb_annotation_pool_destroy(const volatile void *hdb_pool);
#ifdef __cplusplus
}
#define HDB_SIZE_(size) static_cast<unsigned long>(size)
#else
#define HDB_SIZE_(size) ((unsigned long) (size))
#endif

/* The functions, once in each executable and library, in the order of the declarations: 32 bytes each, which
 * return their second argument, rsi: nopl 0(%rax,%rax); nopl (%rax); mov %rsi,%rax; ret. The note says where
 * the first is, counted from that word, how far apart they are, and how many. The assembler is asked in short
 * pieces, as C90 wants, and in bytes, as -masm=intel may hold.
 */
__asm__(".ifndef hdb_annotation_mark\n\t"
	".pushsection .text.hdb, \"axG\", @progbits, hdb_annotations, comdat\n\t.p2align 5\n\t"
	".irp hdb, mark, break, pause, resume, alloc, realloc, free, pool_create, pool_destroy\n\t"
	".weak hdb_annotation_\\hdb\n\t.hidden hdb_annotation_\\hdb\n\t.type hdb_annotation_\\hdb, @function\n"
	"hdb_annotation_\\hdb :\n\t.cfi_startproc\n\t.long 0x441f0f, 0x1f0f00, 0xc3f08948\n\t.cfi_endproc\n\t"
	".size hdb_annotation_\\hdb, 12\n\t.p2align 5\n\t.endr\n\t.popsection\n.endif\n");
__asm__(".ifndef hdb_annotation_note\n\t"
	".pushsection .note.hdb, \"aG\", @note, hdb_annotations, comdat\n\t.p2align 2\n"
	"hdb_annotation_note :\n\t.long 4, 12, 1\n\t.ascii \"hdb\\0\"\n\t"
	".long hdb_annotation_mark - ., 32, 9\n\t.popsection\n.endif\n");
#undef HDB_HIDDEN_

#define HDB_MARK(name) hdb_annotation_mark(name)
#define HDB_BREAK() hdb_annotation_break()
#define HDB_PAUSE() hdb_annotation_pause()
#define HDB_RESUME() hdb_annotation_resume()
#define HDB_ALLOC(pool, ptr, size) ((void) hdb_annotation_alloc((pool), (ptr), HDB_SIZE_(size)))
#define HDB_REALLOC(pool, old, ptr, size) ((void) hdb_annotation_realloc((pool), (ptr), (old), HDB_SIZE_(size)))
#define HDB_FREE(pool, ptr) hdb_annotation_free((pool), (ptr))
#define HDB_POOL_CREATE(pool) hdb_annotation_pool_create(pool)
#define HDB_POOL_DESTROY(pool) hdb_annotation_pool_destroy(pool)

#else

#define HDB_MARK(name) ((void) (name))
#define HDB_BREAK() ((void) 0)
#define HDB_PAUSE() ((void) 0)
#define HDB_RESUME() ((void) 0)
#define HDB_ALLOC(pool, ptr, size) ((void) (pool), (void) (ptr), (void) (size))
#define HDB_REALLOC(pool, old, ptr, size) ((void) (pool), (void) (old), (void) (ptr), (void) (size))
#define HDB_FREE(pool, ptr) ((void) (pool), (void) (ptr))
#define HDB_POOL_CREATE(pool) ((void) (pool))
#define HDB_POOL_DESTROY(pool) ((void) (pool))

#endif
#endif
