// Package glibc reads the heap of glibc's malloc (ptmalloc, glibc 2.31 to 2.43) in the memory
// of a process, from outside and without debug information of the C library.
//
//	arena   a malloc_state: the lists of free chunks and the top chunk. main_arena is a
//	        variable of libc and grows by brk(2); the others are in their first heap
//	heap    64 MiB of address space, aligned to that, of an arena other than the main one
//	chunk   a size word and the user's memory, which reaches over the first word of the
//	        next chunk while the chunk is in use
//	top     the chunk at the end of an arena, which new chunks are cut from
//
// Which chunks are in use is known from the next chunk's PREV_INUSE flag, except those of tcaches
// and fastbins, which keep the flag and are known by the lists.
//
// The variables of libc have no names in a stripped file. They are found by what they hold:
// empty bins point to themselves, the list of arenas comes back, the top chunk ends where
// system_mem says. Where releases differ, the layout is taken that what is found fits.
//
// What is read may be torn (a thread stopped inside malloc) or hostile: numbers are bounded,
// links are followed a limited number of times, and what does not hold together is a Damage
// of its chunk. Nothing is written, and pages that the process never touched are not read.
//
// The source is malloc/malloc.c and malloc/arena.c of glibc.
package glibc
