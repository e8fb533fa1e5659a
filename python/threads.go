package python

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"hdb/internal/addr"
)

// Bounds of lists, against chains that were cut or bent.
const (
	maxInterpreters = 1 << 10
	maxThreads      = 1 << 16
)

// A State is what the interpreter keeps of a thread: a PyThreadState.
type State struct {
	At          addr.Run
	Thread      uint64 // pthread_self() of the thread that made it, or runs it: see Locate
	TID         int    // its kernel's number, 0 up to 3.10
	Interpreter int64  // 0 is the main one

	interpreter addr.Run   // its PyInterpreterState
	loop        addr.Run   // where its innermost call of the interpreter's loop keeps a struct on the stack
	stack       addr.Range // of the thread that it is known to be run by, else empty
}

// A Thread is a thread of the program.
type Thread struct {
	Self  uint64     // pthread_self(), which is at fs:0
	Stack addr.Range // its stack, from the stack pointer on; empty where that is not known
}

// States are those of all threads in all interpreters, newest first.
func (in *Interpreter) States() (all []State, err error) {
	l := in.layout
	at, err := in.mem.Field(in.runtime, l.Runtime.Interpreters)
	for n := 0; at != 0 && err == nil; n++ {
		if n == maxInterpreters {
			return all, fmt.Errorf("more than %d interpreters", maxInterpreters)
		}
		id, e := in.mem.Word(at + addr.Run(l.Interpreter.ID))
		if e != nil {
			return all, fmt.Errorf("interpreter: %w", e)
		}
		if all, err = in.appendStates(all, at, int64(id)); err != nil {
			return all, err
		}
		at, err = in.mem.Field(at, l.Interpreter.Next)
	}
	return all, err
}

func (in *Interpreter) appendStates(all []State, interpreter addr.Run, id int64) ([]State, error) {
	l := in.layout
	at, err := in.mem.Field(interpreter, l.Interpreter.Threads)
	for ; at != 0 && err == nil; at, err = in.mem.Field(at, l.Thread.Next) {
		if len(all) == maxThreads {
			return all, fmt.Errorf("more than %d thread states", maxThreads)
		}
		s := State{At: at, Interpreter: id, interpreter: interpreter}
		if s.Thread, err = in.mem.Word(at + addr.Run(l.Thread.ID)); err != nil {
			break
		}
		if l.Thread.Native != 0 {
			n, err := in.mem.Word(at + addr.Run(l.Thread.Native))
			if err != nil {
				return all, fmt.Errorf("thread state: %w", err)
			}
			s.TID = int(n)
		}
		all = append(all, s)
	}
	if err != nil {
		return all, fmt.Errorf("thread state: %w", err)
	}
	return all, nil
}

// ErrNoState is of a thread that has never called Python, or does no longer.
var ErrNoState = errors.New("the thread does not run Python: it has no state in the interpreter")

// notRunning is ErrNoState where no thread has a state: before Py_Initialize, and after Py_Finalize.
type notRunning struct{}

func (notRunning) Error() string {
	return "the interpreter has not been started, or has ended"
}

func (notRunning) Is(target error) bool { return target == ErrNoState }

// ErrNoFrames is of a thread that is in no function of Python.
var ErrNoFrames = errors.New("the thread is not in a Python function")

// StatesOf are the states of a thread by its pthread_self(), which is at fs:0. One that has run
// code of several interpreters has one in each: first is the state of the interpreter it is in,
// then the others, whose calls are further out. The first holds the interpreter's lock or, while
// the lock is released, is what the thread's thread-specific data has; up to 3.11 that is the main
// interpreter's in others too, and the newest interpreter in which the thread has frames is taken.
//
// From 3.10 to 3.12 those that run on the stack of one of the threads are its, the innermost first.
func (in *Interpreter) StatesOf(self uint64, threads []Thread) ([]State, error) {
	all, err := in.States()
	if err != nil && len(all) == 0 {
		return nil, err
	}
	in.Locate(all, threads)
	return in.StatesAmong(all, self)
}

// Locate gives states to the threads that run them. A state notes the thread that made it, but any
// other may run it: before 3.13 that is usual for those of sub-interpreters. From 3.10 to 3.12 a
// state refers to a struct of the interpreter's loop on the stack. Where that is on none of those
// which are known, the state stays with the thread that made it.
func (in *Interpreter) Locate(all []State, threads []Thread) {
	if in.layout.Thread.OnStack == 0 {
		return
	}
	for i := range all {
		s := &all[i]
		loop, err := in.mem.Field(s.At, in.layout.Thread.OnStack)
		if err != nil {
			continue
		}
		for _, t := range threads {
			if t.Stack.Contains(loop) {
				s.Thread, s.loop, s.stack = t.Self, loop, t.Stack
				break
			}
		}
	}
}

// StatesAmong is StatesOf of all states that have been read and located, at the same stop.
func (in *Interpreter) StatesAmong(all []State, self uint64) ([]State, error) {
	var own []State
	for _, s := range all {
		if s.Thread == self {
			own = append(own, s)
		}
	}
	switch len(own) {
	case 0:
		if len(all) == 0 {
			return nil, notRunning{}
		}
		return nil, ErrNoState
	case 1:
		return own, nil
	}
	slices.SortStableFunc(own, innerFirst)
	if !own[0].stack.Empty() {
		return own, nil
	}
	i := slices.IndexFunc(own, in.Holds)
	if i < 0 && in.layout.Minor <= 11 {
		i = slices.IndexFunc(own, func(s State) bool { _, ok := in.Innermost(s); return ok })
	} else if i < 0 {
		if a, err := in.specific(self); err == nil {
			i = slices.IndexFunc(own, func(s State) bool { return s.At == a })
		}
	}
	if i > 0 {
		current := own[i]
		own = slices.Insert(slices.Delete(own, i, i+1), 0, current)
	}
	return own, nil
}

// innerFirst orders states by where they are on the stack, those of which that is not known last.
func innerFirst(a, b State) int {
	switch {
	case a.stack.Empty() && b.stack.Empty():
		return 0
	case a.stack.Empty():
		return 1
	case b.stack.Empty():
		return -1
	}
	return cmp.Compare(a.loop, b.loop)
}

// Holds reports whether a thread has the interpreter's lock in this state.
func (in *Interpreter) Holds(s State) bool {
	if in.layout.Interpreter.Lock == 0 {
		at, err := in.mem.Field(in.runtime, in.layout.Runtime.Current)
		return err == nil && at == s.At
	}
	lock, err := in.mem.Field(s.interpreter, in.layout.Interpreter.Lock)
	if err != nil || lock == 0 {
		return false
	}
	b, err := in.mem.Read(lock, in.layout.Lock.Taken+4)
	return err == nil && intIn(b, in.layout.Lock.Taken) != 0 && pointerIn(b, in.layout.Lock.Holder) == s.At
}

// Where glibc keeps thread-specific data in struct pthread: specific_1stblock, an array of
// {sequence number, value} for the first keys.
const (
	specificAt   = 784
	specificSize = 16
	specificKeys = 32
)

// specific is what the thread's thread-specific data has for the interpreter's key.
func (in *Interpreter) specific(self uint64) (addr.Run, error) {
	n, err := in.mem.Word(in.runtime + addr.Run(in.layout.Runtime.Key)) // int _is_initialized, pthread_key_t _key
	if err != nil {
		return 0, err
	}
	key := n >> 32
	if uint32(n) == 0 || key >= specificKeys {
		return 0, ErrNoState
	}
	return in.mem.Pointer(addr.Run(self + specificAt + key*specificSize + 8))
}
