// Package pystacks puts the calls of Python into the stacks of events.
package pystacks

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/probe"
	"hdb/python"
	"hdb/session/cpython"
	"hdb/session/target"
	"hdb/symbols"
	"hdb/unwind"
)

// Stacks puts the calls of Python into the stacks of events: as code addresses of
// their own, on the inner side of the address in the interpreter's loop that made them.
//
// The lock guards all fields but target: the probe's calls come on the goroutine that drains its
// ring, those of plain breakpoints on the one that owns the process.
type Stacks struct {
	target *target.Target

	mu     sync.Mutex
	in     *python.Interpreter // nil: there is none, or none that is known; of several the first
	code   *python.Calls       // its calls that the probe reads
	path   string              // of its file
	loops  codeLoops
	stacks cpython.Stacks
	where  map[line]addr.Run // code addresses of positions
	calls  []pythonCalls     // of the probe, by their PythonID
	read   []python.Call     // those that are kept now
	last   []placed          // the frames of the last ones, from the outermost

	// Native and merged are memory for the stacks of WithPython, which come one by one.
	Native, merged []addr.Run
	odd            uint64 // stacks with calls that do not fit

	others []string // files of further interpreters, whose calls are not recorded
}

// New is for the stacks of a target's events.
func New(c *target.Target) *Stacks { return &Stacks{target: c} }

func (x *Stacks) setOthers(files []cpython.File) {
	x.others = nil
	for _, f := range files {
		if f.Where != x.path {
			x.others = append(x.others, f.Where)
		}
	}
}

// Unrecorded says which interpreters' functions stacks of events do not have, "" if there
// are none.
func (x *Stacks) Unrecorded() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.others) == 0 {
		return ""
	}
	var rest []string
	for _, path := range x.others {
		rest = append(rest, filepath.Base(path))
	}
	return fmt.Sprintf("stacks of events have the Python functions of %s only: those of %s are native", filepath.Base(x.path), strings.Join(rest, ", "))
}

// pythonCalls are calls of Python as code addresses, innermost first, cut into those that one
// native frame represents.
type pythonCalls struct {
	groups  [][]addr.Run
	leaving bool // as python.Stack.Leaving
	more    bool // there are others further out
}

// A line is one of a code object.
type line struct {
	code *python.Code
	n    int
}

// A placed line has a code address.
type placed struct {
	line
	at addr.Run
}

// maxWhere bounds the positions whose addresses are remembered.
const maxWhere = 1 << 16

// maxCalls bounds the stacks of Python that are kept: the inferior's memory tells them.
const maxCalls = 1 << 22

// Open looks for an interpreter among the modules of the process, and has the probe follow
// it, if there is one. Once it is known only a fresh look finds another.
func (x *Stacks) Open(fresh bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.target.Proc != nil {
		x.target.Attribution.Runs(x.target.Proc.Exe())
	}
	if x.in != nil && !fresh {
		files, _, _ := cpython.Files(x.target, x.target.Image) // the one that is known stays
		x.setOthers(files)
		return nil
	}
	before := x.code
	x.in, x.code, x.path, x.loops, x.where, x.last = nil, nil, "", codeLoops{}, map[line]addr.Run{}, nil
	x.stacks = cpython.Stacks{}
	files, _, err := cpython.Files(x.target, x.target.Image)
	if len(files) > 0 {
		x.in, x.path = files[0].In, files[0].Where
		x.code = python.NewCalls(x.in, before)
		x.target.Attribution.Interprets(x.path)
	}
	x.setOthers(files)
	if x.target.Probe == nil {
		return err
	}
	if x.in == nil {
		return errors.Join(err, x.target.Probe.FollowPython(nil))
	}
	w := x.in.Walk()
	return x.target.Probe.FollowPython(&probe.Python{
		Current: w.Current, Key: w.Key, Thread: w.Thread, OnStack: w.OnStack, CFrame: w.CFrame, Frame: w.Frame,
		Previous: w.Previous, Code: w.Code, Instruction: w.Instruction, InstructionBits: w.InstructionBits,
		Mark: w.Mark, MarkBits: w.MarkBits, Shim: w.Shim, Lines: w.Lines, FirstLine: w.FirstLine,
		Name: w.Name, Qualname: w.Qualname, File: w.File, CodeSize: w.CodeSize, Freed: x.in.FreedCode(),
	})
}

// Lost reports whether the interpreter's file is one of those that are gone.
func (x *Stacks) Lost(gone []inferior.Module) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.in != nil && slices.ContainsFunc(gone, func(m inferior.Module) bool { return m.Path == x.path })
}

// Learn takes a code object, as it was when the probe saw it first. Calls of one that makes no
// sense have no name. It asks for all again if it has forgotten them.
func (x *Stacks) Learn(id uint64, pieces []probe.PythonPiece) (forgotten bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.in == nil {
		return false
	}
	all := make([]python.Piece, len(pieces))
	for i, p := range pieces {
		all[i] = python.Piece(p)
	}
	_ = x.code.Learn(id, all)
	if forgotten = x.code.Forget(); forgotten {
		clear(x.where) // they keep code objects
		x.last = nil
	}
	return forgotten
}

// Keep keeps calls that the probe has read.
func (x *Stacks) Keep(calls []probe.PythonCall, more bool) probe.PythonID {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.calls) >= maxCalls {
		return maxCalls // which with does not know
	}
	kept := pythonCalls{more: more}
	if x.in != nil {
		x.read = x.read[:0]
		for _, c := range calls {
			x.read = append(x.read, python.Call(c))
		}
		if st, err := x.code.Stack(x.read); err == nil {
			kept = x.addresses(st)
			kept.more = more
		}
	}
	x.calls = append(x.calls, kept)
	return probe.PythonID(len(x.calls) - 1)
}

// addresses are the code addresses of calls.
func (x *Stacks) addresses(st python.Stack) pythonCalls {
	out := pythonCalls{leaving: st.Leaving}
	all, from, groups := make([]addr.Run, 0, len(st.Frames)), 0, 0
	for _, f := range st.Frames {
		if f.Entry {
			groups++
		}
	}
	out.groups = make([][]addr.Run, 0, groups)
	for i, f := range st.Frames {
		all = append(all, x.address(f, len(st.Frames)-1-i))
		if f.Entry {
			out.groups, from = append(out.groups, all[from:]), len(all)
		}
	}
	return out
}

// address is the code address of a call, the nth from the outermost: often it is the address of the
// nth in the calls before.
func (x *Stacks) address(f python.Frame, nth int) addr.Run {
	at := line{f.Code, f.Line}
	if nth < len(x.last) && x.last[nth].line == at && x.last[nth].at != 0 {
		return x.last[nth].at
	}
	a := x.lookUp(at, f)
	if nth >= len(x.last) {
		x.last = append(x.last, make([]placed, nth+1-len(x.last))...)
	}
	x.last[nth] = placed{at, a}
	return a
}

// lookUp is address by what is remembered of all calls.
func (x *Stacks) lookUp(at line, f python.Frame) addr.Run {
	a, known := x.where[at]
	if !known {
		a = x.target.Names.Interpreted.Address(position(f))
		if len(x.where) >= maxWhere {
			clear(x.where)
		}
		x.where[at] = a
	}
	return a
}

// position is where a call of Python is in the program.
func position(f python.Frame) capture.Frame {
	at := capture.Frame{Function: "(function that is gone)", Source: symbols.FromPython.String(), Language: "python"}
	if f.Code != nil {
		at.Function, at.File, at.Line = f.Code.Qualname, f.Code.File, f.Line
	}
	return at
}

// With is a stack of the probe with calls of Python in it, good until the next one.
func (x *Stacks) With(st capture.Stack, id probe.PythonID) capture.Stack {
	x.mu.Lock()
	defer x.mu.Unlock()
	if int(id) >= len(x.calls) {
		return st
	}
	code := func(i int) addr.Code { return st.Code(i) }
	at := x.places(len(st.PCs), code)
	groups, ok := x.fit(x.calls[id], at, st.Truncated == "", code)
	if !ok {
		x.odd++
		return st
	}
	out := capture.Stack{FirstIsPC: st.FirstIsPC, Truncated: st.Truncated, PCs: x.merged[:0]}
	for i, pc := range st.PCs {
		if len(at) > 0 && at[0] == i {
			out.PCs = append(out.PCs, groups[0]...)
			at, groups = at[1:], groups[1:]
		}
		out.PCs = append(out.PCs, pc)
		if st.Guessed(i) {
			out.Guess = setBit(out.Guess, len(out.PCs)-1)
		}
		if i < len(st.Interrupted) && st.Interrupted[i] {
			out.Interrupted = setBit(out.Interrupted, len(out.PCs)-1)
		}
	}
	x.merged = out.PCs
	return out
}

func setBit(bits []bool, i int) []bool {
	bits = append(bits, make([]bool, i+1-len(bits))...)
	bits[i] = true
	return bits
}

// inLoop reports whether code is in the interpreter's loop, which its file exports.
func (x *Stacks) inLoop(c addr.Code) bool {
	obj, m := x.target.Names.Modules.ObjectAt(c.Lookup())
	if obj == nil || m.Path != x.path {
		return false
	}
	sym, _, ok := obj.Symtab.SymbolAt(c.Lookup().File(m.Bias))
	return ok && names.IsPythonLoop(sym.Name)
}

// codeLoops remembers which code addresses are in the interpreter's loop.
type codeLoops struct {
	recent [1 << 10]struct {
		code     addr.Code
		in, used bool
	}
	all map[addr.Code]bool
}

// maxLoops bounds what is remembered of addresses.
const maxLoops = 1 << 16

// has reports whether code is in the loop; look finds it out.
func (l *codeLoops) has(c addr.Code, look func(addr.Code) bool) bool {
	r := &l.recent[uint64(c.Addr())*0x9e3779b97f4a7c15>>54]
	if r.used && r.code == c {
		return r.in
	}
	in, known := l.all[c]
	if !known {
		in = look(c)
		if l.all == nil || len(l.all) >= maxLoops {
			l.all = map[addr.Code]bool{}
		}
		l.all[c] = in
	}
	r.code, r.in, r.used = c, in, true
	return in
}

// places are the indexes of the code addresses in a stack that are in the interpreter's loop.
func (x *Stacks) places(n int, code func(int) addr.Code) (all []int) {
	for i := range n {
		if x.loops.has(code(i), x.inLoop) {
			all = append(all, i)
		}
	}
	return all
}

// fit are the calls for each frame of the interpreter's loop that a stack has at the indexes.
func (x *Stacks) fit(c pythonCalls, at []int, whole bool, code func(int) addr.Code) (groups [][]addr.Run, ok bool) {
	return cpython.FitLoops(c.groups, at, cpython.LoopState{
		Leaving: c.leaving, More: c.more, Whole: whole, Innermost: len(at) > 0 && at[0] == 0,
		Module: func(i int) string {
			if m := x.target.Names.Modules.At(code(i).Lookup()); m != nil {
				return filepath.Base(m.Name)
			}
			return ""
		},
	})
}

// Unmerged is how many stacks had calls that did not fit.
func (x *Stacks) Unmerged() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.odd
}

// Insert puts the calls of Python that a stopped thread is in into its stack.
func (x *Stacks) Insert(t *inferior.Thread, raw unwind.Stack) unwind.Stack {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.in == nil {
		return raw
	}
	code := func(i int) addr.Code { return raw.Frames[i].PC }
	at := x.places(len(raw.Frames), code)
	if len(at) == 0 {
		return raw
	}
	state, err := x.stacks.State(x.target, x.in, t)
	if err != nil {
		return raw // the thread does not run Python
	}
	st, err := x.in.Stack(state)
	if err != nil {
		x.odd++
		return raw
	}
	groups, ok := x.fit(x.addresses(st), at, raw.Truncated == "", code)
	if !ok {
		x.odd++
		return raw
	}
	frames := make([]unwind.Frame, 0, len(raw.Frames)+len(st.Frames))
	for i, f := range raw.Frames {
		if len(at) > 0 && at[0] == i {
			for _, a := range groups[0] {
				frames = append(frames, unwind.Frame{PC: addr.Return(a), CFA: f.CFA, How: f.How, Regs: f.Regs})
			}
			at, groups = at[1:], groups[1:]
		}
		frames = append(frames, f)
	}
	return unwind.Stack{Frames: frames, Truncated: raw.Truncated}
}
