package elf

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Guard runs fn and turns a memory fault inside it into an error. A mapped file that another
// process truncates (a compiler that writes over its output while we have it open) raises SIGBUS on
// the pages that are gone; a debugger must outlive it. Only faults are caught: other panics are
// bugs and pass through.
func Guard(fn func()) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		r := recover()
		if r == nil {
			return
		}
		fault, ok := r.(interface {
			runtime.Error
			Addr() uintptr
		})
		if !ok {
			panic(r)
		}
		err = fmt.Errorf("file changed while it was read: fault at %#x; open it again", fault.Addr())
	}()
	fn()
	return nil
}
