package objects

import "errors"

const (
	maxObjects = 64 << 20 // distinct ones that are followed
	maxSlots   = 1 << 33  // references that are looked at, in all
	maxRefs    = 1 << 33  // a count of references above is none: immortal objects have 1<<32 - 1
	maxSize    = 1 << 47  // bytes of one object; more is nonsense
	maxItems   = 1 << 40  // elements of one object
	maxTypes   = 1 << 20  // types, and addresses that were found to be no types
	maxBasic   = 1 << 24  // bytes of an object without its elements, as its type tells
	maxName    = 512      // bytes of a type's name
	maxState   = 1 << 16  // bytes of the state of a module that are searched
	maxLocals  = 1 << 16  // variables and temporary values of a frame
	maxFrames  = 1 << 16  // of all threads, before the next thread's are read
	maxDeque   = 1 << 32  // blocks of a deque
)

// ErrInterrupted is of work that its user has given up.
var ErrInterrupted = errors.New("interrupted")

// errTooMany is of memory that has more than can be followed.
var errTooMany = errors.New("more than 64 million objects, or 8 billion references: the rest is left out")
