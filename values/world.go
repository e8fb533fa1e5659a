package values

import "io"

// A World is a program that expressions are computed in, and what they can do and name
// beside it. A World is used by one goroutine at a time.
type World struct {
	Program
	Write io.WriterAt // nil: nothing can be changed
	// Call has the selected thread call a function. result reads what it has returned, with
	// the thread's registers right behind the call; then the thread is as it was. Call may
	// be nil: no function is called.
	Call func(c Call, result func(after *Frame) error) error
	// Words are numbers of the debugger: $size is one of the allocation stopped at. Words
	// may be nil.
	Words func(name string) (Word, bool)
	// SignalInfo is the siginfo_t of the signal that the selected thread stopped at, nil
	// without one. SignalInfo may be nil.
	SignalInfo func() []byte

	History []Value          // $1 is the first
	vars    map[string]Value // $name of the user
}
