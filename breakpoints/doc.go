// Package breakpoints knows where programs allocate memory and where the user
// wants to stop: the catalogue of allocator functions, the Tracer that turns
// their calls into events by means of traps, and the list of numbered stops.
//
// In a nutshell the Tracer works as follows. A trap is on the first instruction of every allocator
// function. When it is hit, the registers hold the arguments and the top of the stack the return
// address, where a second trap is planted, once for all threads. When that one is hit with the
// stack pointer that belongs to the call, the result is known and the call is reported to the Sink.
// Frees are reported at their entry, before they run, and need no second trap.
//
// One call of the user's code is one event. Each thread has a shadow stack of
// the calls it is in, keyed by the stack pointer at entry; what an allocator
// calls while it works (operator new calls malloc, malloc calls mmap) belongs
// to the outermost call. What a user's new-handler does in there does not: its
// frees are reported at once, and the blocks it keeps before the outer call. A call that was left without returning, by longjmp
// or an exception, is found out when the stack pointer has passed it or its
// return address is overwritten; it is reported as failed then, that is, at the
// next allocator call of its thread.
//
// There is no event for free(NULL) and sbrk(0), which do nothing. A realloc is one event, when
// it returns. Only if another thread is handed the old block before that is the end of the old
// block reported first, as a Free event of realloc, and the Realloc event then has no Old: the
// order of the events must not make one block live twice.
//
// Not followed is a thread that changes its stack inside of an allocator call
// and allocates there, as a signal handler on an alternate stack may do: the
// call it interrupted counts as abandoned, or the handler's as belonging to it.
//
// A Tracer and a List belong to the goroutine that owns the inferior.Process;
// they take no locks.
package breakpoints
