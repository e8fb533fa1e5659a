package names

import (
	"fmt"
	"path/filepath"
	"strings"

	"hdb/capture"
	"hdb/goruntime"
	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/symbols/dwarf"
	"hdb/unwind"
)

// A Frame is one function call of a stack, an inlined one included.
type Frame struct {
	Num    int
	Code   addr.Code
	Offset uint64 // of Code from the function's entry, 0 when inlined
	symbols.Frame
	Module string     // base name of the file the code is in, "" when unknown
	Path   string     // that file
	InFile addr.File  // Code in that file
	CFA    addr.Run   // of the call's frame; inlined frames share their function's
	How    unwind.How // how the frame was found
	Signal bool       // a signal was delivered here
	Tail   bool       // deduced, not on the stack: see WithTailCalls
	Made   bool       // it made the goroutine whose stack it ends, and need not be there any more
	Nth    int        // of a call of Python: its number among these
	Ahead  int        // inlined calls that begin at Code and are not entered yet: no frames represent them

	Regs unwind.Regs // of the call, as far as they are known; none of a recorded frame
}

// Python tells a call of a function of Python, which a frame of the interpreter's loop represents.
func (f *Frame) Python() bool { return f.Source == symbols.FromPython }

// Name is the function's name in the symbols. Where there is none it says where the function lies,
// as module+offset, which is the same in each run; where nothing tells the function's start, it
// says where the code lies. Code outside of files has only its address.
func (f *Frame) Name() string {
	switch {
	case f.Function != "":
		return f.Function
	case f.InFile != 0:
		return f.inModule(f.InFile - addr.File(f.Offset))
	}
	return f.Code.Addr().String()
}

// CodeName says where the code of a frame without a name lies, as module+offset, which is
// the same in each run. Code outside of files has only its address.
func (f *Frame) CodeName() string {
	if f.InFile != 0 {
		return f.inModule(f.InFile)
	}
	return f.Code.Addr().String()
}

func (f *Frame) inModule(a addr.File) string {
	return fmt.Sprintf("%s+%#x", strings.Trim(f.Module, "[]"), uint64(a)) // [vdso] has brackets of its own
}

// Outside tells the code that is neither the program's nor a library's: the kernel's, and
// what hdb has put into the process.
func (f *Frame) Outside() bool { return f.Module == vdsoName || f.Module == injectedName }

// A Stack is innermost first.
type Stack struct {
	Frames    []Frame
	Truncated string // why it ends early, "" when it is complete
	Main      bool   // it ends at the program's main function, whose callers are left out

	whole []Frame // if Main: with these callers
}

// Stack finds the names of a stack of the process.
func (r *Resolver) Stack(raw unwind.Stack) Stack {
	st := Stack{Truncated: raw.Truncated}
	for _, f := range raw.Frames {
		st.Frames = r.AppendFrames(st.Frames, f)
	}
	return st
}

// injectedName is what represents the module of code that hdb has put into the process.
const injectedName = "hdb's probe"

// AppendFrames adds a physical frame of the process and the calls inlined in it.
func (r *Resolver) AppendFrames(out []Frame, f unwind.Frame) []Frame {
	code := f.PC
	if at, ok := r.Interpreted.At(code.Addr()); ok {
		return append(out, Frame{Num: len(out), Code: code, CFA: f.CFA, How: f.How, Frame: symbolsFrame(at), Module: madeBy(symbols.FromPython)})
	}
	base := Frame{Code: code, CFA: f.CFA, How: f.How, Signal: f.Signal, Regs: f.Regs, Made: f.Made || madeIn(out)}
	if mod := r.Modules.At(code.Lookup()); mod != nil {
		base.Module, base.Path, base.InFile = filepath.Base(mod.Name), mod.Path, code.Addr().File(mod.Bias)
	} else if injected := r.cfg.Injected; injected != nil && injected.Covers(code.Lookup()) {
		base.Module = injectedName
	}
	syms := r.Modules.Frames(code)
	if len(syms) == 0 {
		base.Num, base.Offset = len(out), r.Modules.offset(code)
		return append(out, base)
	}
	for _, sym := range syms {
		fr := base
		fr.Num, fr.Frame = len(out), sym
		if fr.Module == "" {
			fr.Module = madeBy(sym.Source)
		}
		if !sym.Inlined {
			fr.Offset = uint64(code.Addr()) - uint64(r.entry(code, sym))
		}
		out = append(out, fr)
	}
	return out
}

// entry is the run address of the function's entry.
func (r *Resolver) entry(code addr.Code, sym symbols.Frame) addr.Run {
	if mod := r.Modules.At(code.Lookup()); mod != nil {
		return sym.Entry.Run(mod.Bias)
	}
	if sym.Entry != 0 {
		return sym.Entry.Run(0) // of code that was made at run time
	}
	return code.Addr()
}

// RecordedStack finds the names of a stack of a recording, which is the opened capture or
// of this run, as they were at event seq.
func (r *Resolver) RecordedStack(src capture.Source, id capture.StackID, seq uint64) Stack {
	out := r.RecordedWhole(src, id, seq)
	out.Frames = r.shown(out.Frames)
	return out
}

// RecordedWhole is RecordedStack with all frames of a program in Python, the interpreter's
// and the calls of Python.
func (r *Resolver) RecordedWhole(src capture.Source, id capture.StackID, seq uint64) Stack {
	rec := src.Stack(id)
	out := Stack{Truncated: rec.Truncated}
	for i := range rec.PCs {
		out.Frames = r.AppendRecorded(out.Frames, src, &rec, i, seq)
	}
	calls := 0
	for i := range out.Frames {
		if out.Frames[i].Python() {
			out.Frames[i].Nth = calls
			calls++
		}
	}
	return out
}

// WithoutGoHelpers leaves out of a stack of Go what is between functions of others, as Go's own
// tracebacks do: not the innermost frame, none that panics, and none that keep names.
func (r *Resolver) WithoutGoHelpers(frames []Frame, keep func(f *Frame) bool) []Frame {
	shown := frames[:0:0]
	for i := range frames {
		f := &frames[i]
		if i == 0 || f.Made || keep(f) || startsPanic(frames[i-1].Function) || !r.GoHelper(f) {
			shown = append(shown, *f)
		}
	}
	return shown
}

// GoHelper tells such a function by its name, or because the file that it is in marks it.
func (r *Resolver) GoHelper(f *Frame) bool {
	if goruntime.Helper(f.Function) {
		return true
	}
	if f.Inlined || f.Language != dwarf.LangGo || f.InFile == 0 {
		return false
	}
	obj, mod := r.Modules.ObjectAt(f.Code.Lookup())
	return obj != nil && mod != nil && obj.GoWrapper(f.Entry)
}

// startsPanic tells functions that are called where Go's code fails: who called them is of interest.
func startsPanic(function string) bool {
	return function == "runtime.gopanic" || function == "runtime.sigpanic" || function == "runtime.panicwrap"
}

// madeIn reports whether what follows these frames is where the goroutine was made.
func madeIn(frames []Frame) bool {
	n := len(frames)
	return n > 0 && (frames[n-1].Made || frames[n-1].Function == goruntime.GoExit)
}

// AppendRecorded adds the frames that address i of a recorded stack represents.
func (r *Resolver) AppendRecorded(frames []Frame, src capture.Source, rec *capture.Stack, i int, seq uint64) []Frame {
	code := rec.Code(i)
	base := Frame{Code: code, How: unwind.CFI, CFA: addr.Run(i)} // recorded frames have no CFA: their number tells them apart
	if rec.Guessed(i) {
		base.How = unwind.FramePointer
	}
	if m, ok := ModuleAt(src, code.Lookup(), seq); ok {
		base.Module, base.Path, base.InFile = ModuleName(m), m.Path, code.Addr().File(m.Bias)
	}
	base.Made = madeIn(frames)
	chain := r.Chain(code, seq)
	if len(chain) == 0 {
		base.Num = len(frames)
		frames = append(frames, base)
	}
	for _, f := range chain {
		fr := base
		fr.Num, fr.Offset = len(frames), f.Offset
		fr.Frame = symbolsFrame(f)
		if fr.Module == "" {
			fr.Module = madeBy(fr.Frame.Source)
		}
		frames = append(frames, fr)
	}
	return frames
}

// madeBy is what represents the module of code that is in none.
func madeBy(p symbols.Provenance) string {
	if p == symbols.FromPerfMap || p == symbols.FromJIT || p == symbols.FromPython {
		return p.String()
	}
	return ""
}
