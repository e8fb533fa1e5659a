package variables

import (
	"slices"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/session/target"
	"hdb/session/view"
	"hdb/values"
)

// debuggerWords are the convenience variables that the debugger sets: $_thread, $size
// and the like.
type debuggerWords struct {
	target *target.Target
	sel    *view.Selection
	stops  numberedStops
}

// numberedStops are the numbered stops of the session.
type numberedStops interface {
	// Last is the number of the last one that was set, 0: none was.
	Last() int
	// Caught are the events of C++ for which stops hold a thread that is at an address.
	Caught(at addr.Run) []string
}

// word is a number of the debugger: of the selected thread, of the last end of the
// program, or of the event that is stopped at.
func (d debuggerWords) word(name string) (values.Word, bool) {
	switch name {
	case "_thread":
		return values.Word{N: uint64(d.threadNumber()), Int: true}, true
	case "_pid":
		n := 0
		if d.target.Mode() == target.Live {
			n = d.target.Proc.PID()
		}
		return values.Word{N: uint64(n), Int: true}, true
	case "bpnum":
		n := d.stops.Last()
		return values.Word{N: uint64(n), Int: true}, n > 0
	case "_exitcode":
		if d.target.Exit == nil || d.target.Exit.Signal != 0 {
			return values.Word{}, false
		}
		return values.Word{N: uint64(d.target.Exit.Code), Int: true}, true
	case "_exitsignal":
		if d.target.Exit == nil || d.target.Exit.Signal == 0 {
			return values.Word{}, false
		}
		return values.Word{N: uint64(d.target.Exit.Signal), Int: true}, true
	}
	return d.event(name)
}

// threadNumber is the number of the selected thread, in the past of the one that made the selected event; 0 without
// one.
func (d debuggerWords) threadNumber() int {
	switch e := d.sel.Event(); {
	case !d.target.Recalled():
	case e == nil:
		return 0
	default:
		threads := d.sel.RecordedSource().Threads()
		if i := slices.IndexFunc(threads, func(t capture.Thread) bool { return t.TID == e.TID }); i >= 0 {
			return threads[i].Num
		}
		return 0
	}
	if d.sel.Cur.Thread == nil || !d.target.Mode().Readable() {
		return 0
	}
	return d.sel.Cur.Thread.Num
}

// signalInfo is the siginfo_t of the signal that the selected thread stopped at.
func (d debuggerWords) signalInfo() []byte {
	if !d.target.Mode().Readable() || d.sel.Cur.Thread == nil {
		return nil
	}
	return d.sel.Cur.Thread.SignalInfo()
}

// exception is the object that the selected thread throws or begins to handle, where a
// stop at that is reported.
func (d debuggerWords) exception() (at addr.Run, typeName string, ok bool) {
	t := d.sel.Cur.Thread
	if !d.target.Mode().Readable() || t == nil || d.target.Recalled() {
		return 0, "", false
	}
	for _, event := range d.stops.Caught(d.at(t)) {
		regs, err := t.Regs()
		if err != nil {
			return 0, "", false
		}
		at, info, err := d.target.ThrownAt(event, regs)
		if name := d.target.FullTypeOf(info); err == nil && name != "" {
			return at, name, true
		}
	}
	return 0, "", false
}

// at is where a thread is, 0 unknown.
func (d debuggerWords) at(t *inferior.Thread) addr.Run {
	regs, err := t.Regs()
	if err != nil {
		return 0
	}
	return regs.PC()
}

// event is $size and the like: of the event that is stopped at, or selected in a
// capture.
func (d debuggerWords) event(name string) (values.Word, bool) {
	e := d.sel.Event()
	if e == nil {
		return values.Word{}, false
	}
	switch name {
	case "event", "nth":
		return values.Word{N: e.Seq}, true
	case "size":
		return values.Word{N: e.Size}, e.SizeKnown()
	case "addr":
		return values.Word{N: e.Addr, Address: true}, true
	case "old":
		return values.Word{N: e.Old, Address: true}, e.Kind == capture.Realloc
	}
	return values.Word{}, false
}
