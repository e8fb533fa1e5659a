// Package prefetch asks the processor for memory that is about to be used, so that many lines are
// on their way at once. A load of each would keep the processor from continuing. It changes
// nothing: the addresses may be of anything, or nothing.
package prefetch
