// Package panics turns a panic into an error, so that what is under way can be brought to an end
// before hdb reports it.
package panics

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// An Error is a panic: an error of hdb's own.
type Error struct {
	Value any    // what panic was called with
	Stack []byte // of the goroutine, as package runtime/debug prints it
}

func (e *Error) Error() string { return fmt.Sprintf("internal error: %v", e.Value) }

// Unwrap is the value if it is an error.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Catch calls f. If that panics, it returns an *Error.
func Catch(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = Of(v)
		}
	}()
	f()
	return nil
}

// Of makes an *Error of a value that recover has returned, which must not be nil. A panic
// that Group.Wait passed on is the original *Error.
func Of(v any) *Error {
	switch v := v.(type) {
	case *Error:
		return v
	case passedOn:
		return v.from
	}
	return &Error{v, debug.Stack()}
}

// passedOn is the value with which Group.Wait panics. If it is not recovered, Go's runtime prints
// the original stack, too.
type passedOn struct{ from *Error }

func (p passedOn) Error() string { return fmt.Sprintf("%v\n\n%s", p.from, p.from.Stack) }

// A Group is a sync.WaitGroup whose Wait panics if one of its functions has: on the
// goroutine that waits, where others can catch it. Its zero value is ready.
type Group struct {
	wg    sync.WaitGroup
	mu    sync.Mutex
	first *Error
}

// Go calls f on a goroutine of its own.
func (g *Group) Go(f func()) {
	g.wg.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				g.mu.Lock()
				defer g.mu.Unlock()
				if g.first == nil {
					g.first = Of(v)
				}
			}
		}()
		f()
	})
}

// Wait waits for all functions.
func (g *Group) Wait() {
	g.wg.Wait()
	if g.first != nil {
		panic(passedOn{g.first})
	}
}
