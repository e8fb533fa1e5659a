package python

import (
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
	Thread      uint64 // pthread_self() of the thread
	TID         int    // its kernel's number, 0 up to 3.10
	Interpreter int64  // 0 is the main one

	interpreter addr.Run // its PyInterpreterState
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
func (in *Interpreter) StatesOf(self uint64) ([]State, error) {
	all, err := in.States()
	if err != nil && len(all) == 0 {
		return nil, err
	}
	return in.StatesAmong(all, self)
}

// StatesAmong is StatesOf of all states that have been read, at the same stop.
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

// StateOf is the first of StatesOf.
func (in *Interpreter) StateOf(self uint64) (State, error) {
	own, err := in.StatesOf(self)
	if err != nil {
		return State{}, err
	}
	return own[0], nil
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
