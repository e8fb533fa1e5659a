package session

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hdb/annotations"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/modkind"
	"hdb/session/allocators"
	"hdb/session/target"
)

// annotated hears what the program says of itself, but for its pools: marks, that it wants to be
// stopped, and that events are to be recorded or not. C calls functions of hdb.h, which each module
// has its own of; Python, whose module hdb_mark has no code of its own, calls unsetenv(3) of the C
// library with names that no environment has.
type annotated struct {
	target   *target.Target
	account  *target.Account
	demand   *demands
	tables   *pythonTables
	symbols  allocators.Symbols
	selected func() // notes what keeps events out of the recording

	modules []inferior.Module // that were looked at
	traps   map[moduleID][]*inferior.Trap
	deep    bool // also for those that embed an interpreter
	python  bool // an interpreter is among them
}

// forget forgets the process, and what was planted in it.
func (x *annotated) forget() { x.modules, x.traps, x.python, x.deep = nil, nil, false, false }

// release takes the traps out of a process that continues.
func (x *annotated) release() {
	for _, traps := range x.traps {
		for _, t := range traps {
			_ = t.Remove() // fails only where the memory is gone
		}
	}
	x.forget()
}

// look plants traps in modules that have come, and forgets those of modules that are gone.
func (x *annotated) look() {
	modules, deep := x.target.Proc.Modules(), x.demand.wantsEvents()
	if slices.Equal(modules, x.modules) && (x.deep || !deep) {
		return
	}
	x.deep = x.deep || deep
	if x.traps == nil {
		x.traps = map[moduleID][]*inferior.Trap{}
	}
	x.modules = slices.Clone(modules)
	there := map[moduleID]bool{}
	for _, m := range modules {
		there[moduleID{m.Low, m.Path}] = true
		x.python = x.python || x.isPython(m)
	}
	for id := range x.traps {
		if !there[id] {
			delete(x.traps, id)
		}
	}
	for _, m := range modules {
		id := moduleID{m.Low, m.Path}
		libc := modkind.IsCLibrary(m.Path)
		if x.traps[id] != nil || libc && !x.python {
			continue
		}
		x.traps[id] = []*inferior.Trap{} // looked at
		for _, fn := range allocators.AnnotationFunctions(x.target, m) {
			if told := x.headerFunction(fn.Name); told != nil {
				x.plant(id, fn.Addr, func(t *inferior.Thread) inferior.Action { return x.called(t, told) })
			}
		}
		if libc {
			found, _ := x.symbols.Defined(m, []string{unsetenv}) // what cannot be read is said of its allocators
			for _, s := range found {
				x.plant(id, s.Addr, x.unsetenv)
			}
		}
	}
}

// isPython tells modules that are, or have, an interpreter. Files are only asked while events
// are wanted: they have been opened then.
func (x *annotated) isPython(m inferior.Module) bool {
	if modkind.IsPython(m.Path) {
		return true
	}
	return x.deep && slices.ContainsFunc(x.tables.interpreters(), func(r interpreterModule) bool { return r.Low == m.Low })
}

// plant puts a trap into a module. Where it cannot be, calls there are missed.
func (x *annotated) plant(id moduleID, at addr.Run, h inferior.Handler) {
	t, err := x.target.Proc.Plant(at, h)
	if err != nil {
		x.target.Notify("annotations of %s are not followed: %v", filepath.Base(id.path), err)
		return
	}
	x.traps[id] = append(x.traps[id], t)
}

// A teller does what the program asks for by a call whose first argument is given, at a time
// that was taken before hdb's own work. With stop the program is to stop, for what it says.
type teller func(argument addr.Run, now time.Duration) (stop string)

// headerFunction is what a function of the header asks for; nil of those that describe pools.
func (x *annotated) headerFunction(function string) teller {
	switch function {
	case annotations.Mark:
		return func(name addr.Run, now time.Duration) string {
			if text, ok := x.text(name); ok {
				x.mark(text, now)
			}
			return ""
		}
	case annotations.Break:
		return func(addr.Run, time.Duration) string { return "HDB_BREAK()" }
	case annotations.Pause:
		return func(addr.Run, time.Duration) string { x.pause(true); return "" }
	case annotations.Resume:
		return func(addr.Run, time.Duration) string { x.pause(false); return "" }
	}
	return nil
}

// called follows a call of a function of the header: the thread continues as if it had returned, as
// it does nothing.
func (x *annotated) called(t *inferior.Thread, told teller) inferior.Action {
	now := x.target.Now()
	defer x.target.OwnWork()()
	regs, err := t.Regs()
	if err != nil {
		return inferior.Resume
	}
	stop := told(addr.Run(regs.Rdi), now)
	if stop == "" {
		return inferior.Resume
	}
	at := addr.PC(regs.PC())
	if to, err := x.target.ReadPointer(addr.Run(regs.Rsp)); err == nil {
		regs.Rip, regs.Rsp = uint64(to), regs.Rsp+8
		if t.SetRegs(regs) == nil {
			at = addr.Return(to)
		}
	}
	x.demand.hits = append(x.demand.hits, hit{thread: t, occurred: stop, now: at})
	return inferior.StopHere
}

// unsetenv is the C library's function by which Python tells.
const unsetenv = "unsetenv"

// The names by which hdb_mark.py asks for something. What follows pythonMark is the name of a
// mark, in which two characters are escaped that a name of the environment cannot have.
const (
	pythonTells = "\x01hdb:"
	pythonMark  = "mark:"
)

var pythonEscapes = strings.NewReplacer("\x01e", "=", "\x01z", "\x00")

// unsetenv follows a call of that function.
func (x *annotated) unsetenv(t *inferior.Thread) inferior.Action {
	now := x.target.Now()
	regs, err := t.Regs()
	if err != nil {
		return inferior.Resume
	}
	text, ok := x.text(addr.Run(regs.Rdi))
	asked, ok2 := strings.CutPrefix(text, pythonTells)
	if !ok || !ok2 {
		return inferior.Resume
	}
	defer x.target.OwnWork()()
	name, mark := strings.CutPrefix(asked, pythonMark)
	switch {
	case mark:
		x.mark(pythonEscapes.Replace(name), now)
	case asked == "pause", asked == "resume":
		x.pause(asked == "pause")
	case asked == "break":
		x.demand.hits = append(x.demand.hits, hit{thread: t, occurred: "hdb_mark.break_()", now: addr.PC(regs.PC())})
		return inferior.StopHere
	}
	return inferior.Resume
}

// maxText bounds what the program tells, in bytes.
const maxText = 512

// text reads a C string, the beginning of one that is too long.
func (x *annotated) text(at addr.Run) (string, bool) {
	var b [maxText]byte
	n, _ := x.target.Proc.ReadAt(b[:], int64(at)) // short where memory ends
	end := bytes.IndexByte(b[:n], 0)
	if end < 0 {
		end = n
	}
	return string(b[:end]), n > 0
}

// mark names a moment of a recording under way.
func (x *annotated) mark(name string, now time.Duration) {
	name = strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, name), "?")
	if strings.TrimSpace(name) == "" || !x.account.Rec.On() {
		return
	}
	full := false
	x.target.Exclusive(func() { full = !x.account.Rec.AddProgramMark(name, reservedMoment(name), now) })
	if text := "the program has set too many marks: no more are kept"; full && !x.target.Said[text] {
		x.target.Said[text] = true
		x.target.Notify("%s", text)
	}
}

// pause keeps events out of a recording under way, or lets them in again.
func (x *annotated) pause(on bool) {
	if st := x.account.Rec.Status(); !st.On || st.Paused == on {
		return
	}
	x.target.Exclusive(func() { x.account.Rec.Pause(on) })
	x.selected()
}
