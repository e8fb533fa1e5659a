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
	at, err := in.mem.pointer(in.runtime + addr.Run(l.interpreter))
	for n := 0; at != 0 && err == nil; n++ {
		if n == maxInterpreters {
			return all, fmt.Errorf("more than %d interpreters", maxInterpreters)
		}
		id, e := in.mem.word(at + addr.Run(l.id))
		if e != nil {
			return all, fmt.Errorf("interpreter: %w", e)
		}
		if all, err = in.appendStates(all, at, int64(id)); err != nil {
			return all, err
		}
		at, err = in.mem.pointer(at + addr.Run(l.nextInterpreter))
	}
	return all, err
}

func (in *Interpreter) appendStates(all []State, interpreter addr.Run, id int64) ([]State, error) {
	l := in.layout
	at, err := in.mem.pointer(interpreter + addr.Run(l.threads))
	for ; at != 0 && err == nil; at, err = in.mem.pointer(at + addr.Run(l.nextThread)) {
		if len(all) == maxThreads {
			return all, fmt.Errorf("more than %d thread states", maxThreads)
		}
		s := State{At: at, Interpreter: id, interpreter: interpreter}
		if s.Thread, err = in.mem.word(at + addr.Run(l.threadID)); err != nil {
			break
		}
		if l.nativeID != 0 {
			n, err := in.mem.word(at + addr.Run(l.nativeID))
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

// ErrNoState is of a thread that has never called Python, or does not any more.
var ErrNoState = errors.New("the thread has no state in the interpreter: it does not run Python")

// ErrNoFrames is of a thread that is in no function of Python.
var ErrNoFrames = errors.New("the thread is in no function of Python")

// StateOf is the state of a thread by its pthread_self(), which is at fs:0. A thread that
// has run code of several interpreters has one in each: the one that it is in holds the
// interpreter's lock or, while the lock is released, is what its thread-specific data has.
func (in *Interpreter) StateOf(self uint64) (State, error) {
	all, err := in.States()
	if err != nil && len(all) == 0 {
		return State{}, err
	}
	own := slices.DeleteFunc(all, func(s State) bool { return s.Thread != self })
	if len(own) == 0 {
		return State{}, ErrNoState
	}
	if len(own) > 1 {
		for _, at := range []func(uint64) (addr.Run, error){in.holder, in.specific} {
			a, err := at(self)
			if i := slices.IndexFunc(own, func(s State) bool { return s.At == a }); err == nil && i >= 0 {
				return own[i], nil
			}
		}
	}
	return own[0], nil
}

// holder is the state that holds the lock, up to 3.11.
func (in *Interpreter) holder(uint64) (addr.Run, error) {
	if in.layout.current == 0 {
		return 0, ErrNoState
	}
	return in.mem.pointer(in.runtime + addr.Run(in.layout.current))
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
	n, err := in.mem.word(in.runtime + addr.Run(in.layout.key)) // int _is_initialized, pthread_key_t _key
	if err != nil {
		return 0, err
	}
	key := n >> 32
	if uint32(n) == 0 || key >= specificKeys {
		return 0, ErrNoState
	}
	return in.mem.pointer(addr.Run(self + specificAt + key*specificSize + 8))
}
