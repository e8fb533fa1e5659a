package symbols

import (
	"cmp"
	"slices"

	"hdb/goruntime"
	"hdb/internal/addr"
	"hdb/symbols/elf"
	"hdb/unwind"

	"golang.org/x/arch/x86/x86asm"
)

// The functions of a Go runtime that call on another stack, and the one that goroutines
// return to. They are written in assembly, and their CFI describes the stack that they were
// called on (Go's src/runtime/asm_amd64.s, src/runtime/cgo/asm_amd64.s).
const (
	goCallsC      = "runtime.asmcgocall"
	goCalledBack  = "runtime.cgocallback"
	goFromC       = "crosscall2"
	goSystemStack = "runtime.systemstack"
	goScheduler   = "runtime.mcall"
	goBegin       = "runtime.rt0_go"
	goExit        = goruntime.GoExit
	goABI0        = ".abi0" // what symbol tables add to names of functions in assembly
)

// maxSwitchCode bounds these functions, in bytes.
const maxSwitchCode = 4096

// goSwitches are the rows of code in a Go runtime that calls on another stack. What is
// not understood has none: there stacks end.
func (o *Object) goSwitches() (rows []unwind.Row) {
	if !o.File.elf.IsGo() {
		return nil
	}
	version, _ := o.GoVersion()
	l, _ := goruntime.Of(version) // without it, it is not known who made a goroutine
	add := func(fn unwind.Range, at uint64, rule unwind.Row) {
		rule.Low, rule.High, rule.Function = addr.File(at-1), addr.File(at), fn
		rows = append(rows, rule)
	}
	for _, fn := range o.switchFunctions() {
		code := make([]byte, min(fn.High-fn.Low, maxSwitchCode))
		if !o.File.elf.ReadAddr(code, fn.Low) {
			continue
		}
		in := unwind.Range{Low: fn.Low, High: fn.High}
		put := func(at int, rule unwind.Row) { add(in, uint64(fn.Low)+uint64(at), rule) }
		switch fn.Name {
		case goCallsC:
			callsOfC(decode(code), put)
		case goCalledBack:
			callOfGo(decode(code), put)
		case goSystemStack:
			if list := decode(code); pushesBP(list) {
				callOnSystemStack(list, unwind.Row{Switch: unwind.Switch{Kind: unwind.FromGoroutine}}, put)
			}
		case goScheduler: // no caller: the goroutine waits meanwhile
			callOnSystemStack(decode(code), noCaller(), put)
		case goBegin: // it aligns the stack first
			for _, in := range decode(code) {
				if in.Op == x86asm.CALL {
					put(in.end, noCaller())
				}
			}
		case goFromC:
			callFromC(decode(code), put)
		case goExit:
			put(1, unwind.Row{Switch: unwind.Switch{Kind: unwind.GoroutineEnd, Creator: int64(l.GoPC), ID: int64(l.GoID)}})
		}
	}
	slices.SortFunc(rows, func(a, b unwind.Row) int { return cmp.Compare(a.Low, b.Low) })
	return slices.CompactFunc(rows, func(a, b unwind.Row) bool { return a.Low == b.Low })
}

// noCaller is a row of a function that nothing has called.
func noCaller() unwind.Row {
	r := unwind.Row{CFA: unwind.Rule{Kind: unwind.Register, Reg: unwind.RSP, Offset: 8}}
	r.SetRule(unwind.RA, unwind.Rule{Kind: unwind.Undefined})
	return r
}

// switchFunctions finds the functions, by the symbol table or by the one that Go programs need
// at run time.
func (o *Object) switchFunctions() (list []Function) {
	names := []string{goCallsC, goCalledBack, goFromC, goSystemStack, goScheduler, goBegin, goExit}
	for _, name := range names {
		for _, s := range slices.Concat(o.Symtab.Symbols(name), o.Symtab.Symbols(name+goABI0)) {
			if s.Defined && s.IsCode() {
				list = append(list, Function{Name: name, Low: s.Addr, High: s.Addr + addr.File(s.Size)})
			}
		}
	}
	if !slices.ContainsFunc(list, func(f Function) bool { return f.Name == goCallsC }) { // stripped, maybe except what C refers to
		elf.Guard(func() { list = o.golang.named(func(have string) bool { return slices.Contains(names, have) }) })
	}
	return list
}

// An instruction of code that was decoded.
type instruction struct {
	x86asm.Inst
	end int // where the next one begins
}

// decode decodes code as far as it is understood.
func decode(code []byte) (list []instruction) {
	for off := 0; off < len(code); {
		in, err := x86asm.Decode(code[off:], 64)
		if err != nil {
			break
		}
		off += in.Len
		list = append(list, instruction{in, off})
	}
	return list
}

// pushesBP tells functions that begin by pushing rbp.
func pushesBP(list []instruction) bool {
	return len(list) > 0 && list[0].Op == x86asm.PUSH && list[0].Args[0] == x86asm.RBP
}

// onStack is where above rsp an instruction stores a register or a number.
func (in instruction) onStack() (slot int64, value x86asm.Arg, ok bool) {
	m, isMem := in.Args[0].(x86asm.Mem)
	if in.Op != x86asm.MOV || !isMem || m.Base != x86asm.RSP || m.Index != 0 || m.Segment != 0 {
		return 0, nil, false
	}
	return m.Disp, in.Args[1], true
}

// callsOfC finds the calls of asmcgocall, behind its alignments of the stack: each stores the
// goroutine, or 0, and below it how deep the stack was, or where.
func callsOfC(list []instruction, put func(int, unwind.Row)) {
	const none = -1
	g, depth, aligned := int64(none), int64(none), false
	for _, in := range list {
		slot, value, stores := in.onStack()
		switch {
		case in.Op == x86asm.AND && in.Args[0] == x86asm.RSP:
			g, depth, aligned = none, none, true
		case !aligned:
		case stores && g == none && (value == x86asm.RDI || value == x86asm.Imm(0)):
			g = slot
		case stores && depth == none && (value == x86asm.RDI || value == x86asm.RDX):
			depth = slot
		case in.Op == x86asm.CALL:
			if g >= 8 && depth == g-8 {
				put(in.end, unwind.Row{Switch: unwind.Switch{Kind: unwind.ToGoroutine, Slot: g, Pushed: pushesBP(list)}})
			}
			aligned = false
		}
	}
}

// callOfGo finds the call of cgocallback that it makes on the stack of a goroutine.
func callOfGo(list []instruction, put func(int, unwind.Row)) {
	moved := false
	for _, in := range list {
		switch {
		case in.Op == x86asm.MOV && in.Args[0] == x86asm.RSP && in.Args[1] == x86asm.RDI:
			moved = true
		case moved && in.Op == x86asm.CALL:
			put(in.end, unwind.Row{Switch: unwind.Switch{Kind: unwind.FromGoroutine}})
			return
		}
	}
}

// callOnSystemStack finds the call of systemstack and mcall that they make on the stack of the thread,
// and puts row there. What systemstack calls saves rbp, which points to the frame of systemstack if that
// has one: since Go 1.21.
func callOnSystemStack(list []instruction, row unwind.Row, put func(int, unwind.Row)) {
	moved := false
	for _, in := range list {
		_, loads := in.Args[1].(x86asm.Mem)
		switch {
		case in.Op == x86asm.MOV && in.Args[0] == x86asm.RSP && loads:
			moved = true
		case moved && in.Op == x86asm.CALL:
			put(in.end, row)
			return
		}
	}
}

// callFromC finds the call of crosscall2, which keeps the registers of its caller in C, and
// what has become of them there. Its CFI does not say that.
func callFromC(list []instruction, put func(int, unwind.Row)) {
	names := map[x86asm.Arg]unwind.Reg{x86asm.RBP: unwind.RBP, x86asm.RBX: unwind.RBX,
		x86asm.R12: unwind.R12, x86asm.R13: unwind.R13, x86asm.R14: unwind.R14, x86asm.R15: unwind.R15}
	saved := map[unwind.Reg]int64{} // below the return address
	depth := int64(0)               // bytes that the stack has grown
	for _, in := range list {
		slot, value, stores := in.onStack()
		n, isNumber := in.Args[1].(x86asm.Imm)
		reg, ofC := names[value]
		switch {
		case in.Op == x86asm.PUSH:
			depth += 8
			if reg, ok := names[in.Args[0]]; ok {
				saved[reg] = depth
			}
		case in.Op == x86asm.SUB && in.Args[0] == x86asm.RSP && isNumber:
			depth += int64(n)
		case in.Op == x86asm.ADD && in.Args[0] == x86asm.RSP && isNumber:
			depth -= int64(n)
		case stores && ofC:
			if _, twice := saved[reg]; !twice { // rbp is the function's own frame pointer then
				saved[reg] = depth - slot
			}
		case in.Op == x86asm.CALL:
			if len(saved) < len(names) {
				return
			}
			r := unwind.Row{CFA: unwind.Rule{Kind: unwind.Register, Reg: unwind.RSP, Offset: depth + 8}}
			r.SetRule(unwind.RA, unwind.Rule{Kind: unwind.Offset, Offset: -8})
			for reg, below := range saved {
				r.SetRule(reg, unwind.Rule{Kind: unwind.Offset, Offset: -8 - below})
			}
			put(in.end, r)
			return
		}
	}
}
