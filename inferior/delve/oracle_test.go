package delve

import (
	"encoding/binary"
	"fmt"

	"hdb/inferior"
	"hdb/internal/addr"

	"github.com/go-delve/delve/pkg/proc"
)

// What delve says of goroutines, which the tests compare with.

// A Goroutine is one of the program's goroutines.
type Goroutine struct {
	ID         int64
	TID        int    // the thread that runs it, 0 when it is parked
	Status     string // "running", "waiting", ...
	WaitReason string // "chan receive", of a waiting one
	PC         addr.Run
	Function   string // where the user's code is
	File       string
	Line       int
}

// A Frame is one frame of a goroutine's stack.
type Frame struct {
	Code     addr.Code
	Function string
	File     string
	Line     int
	Inlined  bool
}

// Goroutines lists all goroutines.
func (g *Program) Goroutines() ([]Goroutine, error) {
	if err := g.refresh(nil); err != nil {
		return nil, err
	}
	all, _, err := proc.GoroutinesInfo(g.target, 0, 0)
	if err != nil {
		return nil, fmt.Errorf("goroutines: %w", err)
	}
	list := make([]Goroutine, 0, len(all))
	for _, x := range all {
		if x.Unreadable == nil {
			list = append(list, g.describe(x))
		}
	}
	return list, nil
}

var goroutineStatus = map[uint64]string{proc.Gidle: "idle", proc.Grunnable: "runnable", proc.Grunning: "running",
	proc.Gsyscall: "in a system call", proc.Gwaiting: "waiting", proc.Gdead: "dead", proc.Gcopystack: "copying its stack"}

func (g *Program) describe(x *proc.G) Goroutine {
	loc := x.UserCurrent()
	r := Goroutine{ID: x.ID, Status: goroutineStatus[x.Status], PC: addr.Run(loc.PC), File: loc.File, Line: loc.Line}
	if x.Status == proc.Gwaiting {
		r.WaitReason = g.waitReason(x.WaitReason)
	}
	if loc.Fn != nil {
		r.Function = loc.Fn.Name
	}
	if x.Thread != nil {
		r.TID = x.Thread.ThreadID()
	}
	return r
}

// waitReason reads the program's own runtime.waitReasonStrings: the numbers
// differ between versions of Go.
func (g *Program) waitReason(n int64) string {
	reasons := symbol(g.p, "runtime.waitReasonStrings")
	var header [16]byte // a string: pointer and length
	if reasons == 0 || n < 0 || n > 255 {
		return ""
	}
	if _, err := g.p.ReadAt(header[:], int64(reasons)+16*n); err != nil {
		return ""
	}
	at, size := binary.LittleEndian.Uint64(header[:]), binary.LittleEndian.Uint64(header[8:])
	if size > 100 {
		return ""
	}
	text := make([]byte, size)
	if _, err := g.p.ReadAt(text, int64(at)); err != nil {
		return ""
	}
	return string(text)
}

// CurrentGoroutine is the one that t runs; false on a thread that runs none.
func (g *Program) CurrentGoroutine(t *inferior.Thread) (Goroutine, bool) {
	if g.refresh(t) != nil {
		return Goroutine{}, false
	}
	x, err := proc.GetG(g.target.CurrentThread())
	if err != nil || x == nil {
		return Goroutine{}, false
	}
	return g.describe(x), true
}

// Stack walks the stack of the goroutine that t runs, innermost first, at
// most depth frames.
func (g *Program) Stack(t *inferior.Thread, depth int) ([]Frame, error) {
	if err := g.refresh(t); err != nil {
		return nil, err
	}
	frames, err := proc.ThreadStacktrace(g.target, g.target.CurrentThread(), depth)
	if err != nil {
		return nil, fmt.Errorf("stack of thread %d: %w", t.TID, err)
	}
	var list []Frame
	for i, f := range frames {
		fr := Frame{Code: addr.Return(addr.Run(f.Current.PC)), File: f.Call.File, Line: f.Call.Line, Inlined: f.Inlined}
		if i == 0 {
			fr.Code = addr.PC(addr.Run(f.Current.PC))
		}
		if f.Call.Fn != nil {
			fr.Function = f.Call.Fn.Name
		}
		list = append(list, fr)
	}
	return list, nil
}
