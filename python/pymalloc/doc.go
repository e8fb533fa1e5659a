// Package pymalloc reads the heap of CPython's allocator of small blocks in the memory of a
// process: its arenas, the pools that they are cut into, and the blocks of each pool.
//
//	arena   256 KiB (1 MiB from 3.10 on), mapped by the interpreter
//	pool    4 KiB (16 KiB from 3.10 on) of an arena: a header, then blocks of one size class
//	block   16 to 512 bytes, a multiple of 16; class i has blocks of 16*(i+1) bytes
//
// A pool counts its blocks in use. Free blocks are linked by their first words; behind the last one
// that was ever in use nothing has been cut yet. So which blocks are in use is known without a
// recording.
//
// Up to 3.11 the allocator's variables are static ones of Objects/obmalloc.c, and stripped files
// have no names for them: they are found in the instructions of _PyObject_DebugMallocStats, which
// every build exports, and distinguished by what they hold. From 3.12 on they are in the state of
// each interpreter, or a pointer there leads to them.
//
// What is read may be torn or hostile: numbers are bounded, links are followed within their
// pool only, and what does not hold together is an error of its pool.
//
// The sources are Objects/obmalloc.c and, from 3.12 on, Include/internal/pycore_obmalloc.h.
package pymalloc
