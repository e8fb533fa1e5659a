// Package jemalloc reads the heap of jemalloc (5.2 and 5.3, x86-64) in the memory of a process, from
// outside and without debug information.
//
//	extent   a run of pages that an arena has: active, or kept for later (dirty, muzzy, retained)
//	slab     an active extent that is cut into regions of one size class, with a bitmap of the free ones
//	large    an active extent that is one block, with a page more than its size class; the block
//	         begins at a random multiple of 64 bytes in its first page
//	rtree    the map from pages to extents: a root of 2^18 pointers, and leaves of 2^18 words, one a page.
//	         An extent's first and last page have a word, all pages of a slab
//	tcache   of a thread: regions and small large blocks that were freed, and are still in use for their slab
//	base     blocks of at least 2 MiB that jemalloc takes its own data from: leaves, extents, arenas
//
// Nothing is known by name. The root is a word in a module's data that leads to a leaf whose word for some
// page leads to a struct of an extent which says that it has that page. The layout of that struct is the one
// by which the struct agrees with the leaf; the size classes (they depend on how jemalloc was configured) are
// those that give the extents their sizes. A tcache is known by the pointers to itself.
//
// What is read may be torn (a thread stopped inside malloc) or hostile: numbers are bounded, links are
// followed a limited number of times, and extents that do not agree with the map are left out and counted.
// Nothing is written, and pages that the process never touched are not read.
//
// The source is jemalloc's include/jemalloc/internal/{rtree,edata,extent_structs,cache_bin,tcache_structs,base,sc}.h.
package jemalloc
