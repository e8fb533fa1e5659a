package values

import (
	"errors"
	"io"

	"hdb/internal/addr"
	"hdb/values/calls"
)

// A World is a program that expressions are computed in, and what else they can do and name. A
// World is used by one goroutine at a time.
type World struct {
	Program
	Write io.WriterAt // nil: nothing can be changed
	// Call has the selected thread call a function. result reads what it has returned, with
	// the thread's registers right behind the call; then the thread is as it was. Call may
	// be nil: no function is called.
	Call func(c calls.Call, result func(after *Frame) error) error
	// Words are numbers of the debugger: $size is one of the allocation stopped at. Words
	// may be nil.
	Words func(name string) (Word, bool)
	// SignalInfo is the siginfo_t of the signal that the selected thread stopped at, nil
	// without one. SignalInfo may be nil.
	SignalInfo func() []byte
	// Exception is the object that is thrown or caught where the selected thread has
	// stopped, and its type's name. Exception may be nil.
	Exception func() (at addr.Run, typeName string, ok bool)

	// Version changes when Modules or their debug information do. nil: nothing of it is
	// remembered from one condition to the next.
	Version func() uint64
	sites   sites

	History []Value          // $1 is the first
	vars    map[string]Value // $name of the user
}

// store writes the bytes of a value into the program.
func (w *World) store(to Value, b []byte) (Value, error) {
	switch to.place {
	case inMemory:
		if w.Write == nil {
			return Value{}, errors.New("nothing can be written here")
		}
		if to.bits > 0 {
			old, err := w.ReadMemory(to.addr, int((to.bitOff+to.bits+7)/8))
			if err != nil {
				return Value{}, err
			}
			for i := range to.bits {
				at := to.bitOff + i
				bit := b[i/8] >> (i % 8) & 1
				old[at/8] = old[at/8]&^(1<<(at%8)) | bit<<(at%8)
			}
			b = old
		}
		if _, err := w.Write.WriteAt(b, int64(to.addr)); err != nil {
			return Value{}, err
		}
		to.data = nil
		return to, nil
	case inRegister:
		return to.frame.store(to, b)
	}
	return Value{}, errors.New("only a value in memory or in a register can be changed")
}
