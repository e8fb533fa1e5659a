// Package planes holds the two planes of hdb against each other and against
// others' counts and stacks. It has tests only.
//
// hdb follows allocator calls with plain breakpoints or with a probe inside the
// program, and one call of the user's code is one event in both. So the tests
//
//   - record each program of testprogs and real ones in both planes and compare
//     the captures, event by event;
//   - compare totals with those of a preloaded library, of valgrind and of
//     heaptrack, and stacks with gdb's;
//   - record programs that do what debuggers and agents trip over, all at once or
//     all the time (testprogs/testdata/storm_*). Each of those checks its own
//     results, and prints how many calls it made, to compare with the capture.
//
// A hdb without a probe has its plain plane compared with itself; the log of the
// tests says so.
package planes
