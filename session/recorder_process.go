package session

import (
	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/session/target"
	"hdb/unwind"
)

// recordedProcess is what the recording asks about the process.
type recordedProcess struct {
	target *target.Target
	likes  *likenesses
}

// Frames answers what the filter asks of a stack that the probe has walked.
func (r recordedProcess) Frames(st capture.Stack) recording.Frames {
	f := &recordedFrames{likes: r.likes, Predicates: query.Predicates{Attribution: r.target.Attribution}}
	f.Find = func() []names.Frame {
		defer r.target.Names.Debuginfod.DoNotWait()() // see fetchAhead
		var out []names.Frame
		for i := range st.PCs {
			out = r.target.Names.AppendFrames(out, unwind.Frame{PC: st.Code(i)})
		}
		return out
	}
	return f
}

// GoType reports whether the type that a Go runtime was given for a block of size bytes, by code at
// an address, matches a pattern.
func (r recordedProcess) GoType(code addr.Run, aux capture.GoAux, size uint64, pattern string) bool {
	return r.target.Go.Matches(code, aux, size, pattern)
}

// recordedFrames are the named frames of a stack.
type recordedFrames struct {
	likes *likenesses
	query.Predicates
}

// Like reports whether the stack equals an event's in a capture.
func (f *recordedFrames) Like(event string) bool { return f.likes.same(event, f.Predicates.Stack()) }

// Guessed has names read that the frames may have, while the process runs. They are read
// soon, because a runtime that ends takes its code back first: recorded stacks were followed
// by frame pointers, as those through code of no file are.
func (r recordedProcess) Guessed() {
	if r.target.Names.JIT.Want() {
		if p := r.target.Current.Load(); p != nil {
			p.Wake(r.target.Names.JIT.Read)
		}
	}
}

// Numbered has the probe count an event that got a number.
func (r recordedProcess) Numbered() {
	if r.target.Probe != nil {
		r.target.Probe.Numbered()
	}
}

// Interpreted is the position in Python that a code address represents.
func (r recordedProcess) Interpreted(pc addr.Run) (capture.Frame, bool) {
	return r.target.Names.Interpreted.At(pc)
}

// Resident is the resident memory of a process.
func (recordedProcess) Resident(pid int) (uint64, error) { return inferior.Resident(pid) }

// thread is a thread as the recording sees it.
type thread struct{ *inferior.Thread }

// ID is the kernel's.
func (t thread) ID() int32 { return int32(t.TID) }

// Number is the debugger's.
func (t thread) Number() int { return t.Num }
