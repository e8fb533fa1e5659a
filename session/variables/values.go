package variables

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"hdb/inferior/delve"
	"hdb/internal/addr"
	"hdb/internal/modkind"
	"hdb/names"
	"hdb/session/target"
	"hdb/session/view"
	"hdb/symbols"
	"hdb/symbols/elf"
	"hdb/values"
	"hdb/values/printers"
)

// Values reads the variables and expressions of the selected frame. It keeps the
// history of printed values.
type Values struct {
	Target *target.Target
	sel    *view.Selection
	Regs   registers
	words  debuggerWords
	World  values.World
}

// NewValues is a reader of values with an empty history.
func NewValues(c *target.Target, sel *view.Selection, stops numberedStops) *Values {
	v := &Values{Target: c, sel: sel, Regs: registers{sel}, words: debuggerWords{c, sel, stops}}
	v.World = values.World{
		Program: values.Program{
			Reader: values.Reader{Mem: sessionMemory{c}}, Modules: v.modules, System: isSystem, Printers: printers.Table{}, TLS: v.threadLocal,
			Symbol: func(a addr.Run) (string, uint64, bool) {
				sym, err := c.Names.Symbols.At(a)
				return sym.Name, sym.Offset, err == nil
			},
			Lookup: v.lookup,
			Note:   v.note, MacroScope: v.mainScope,
		},
		Write: sessionMemory{c}, Words: v.words.word, SignalInfo: v.words.signalInfo, Exception: v.words.exception, Version: c.Names.Modules.Version,
	}
	return v
}

// isSystem tells the C library and its dynamic linker.
func isSystem(m values.Module) bool { return modkind.IsCLibrary(m.Obj.File.Path()) }

// mainScope is the place of the program's main function, where macros are looked for as long as
// there is no process.
func (v *Values) mainScope() *values.Frame {
	if v.Target.Image != nil || v.Target.Recalled() {
		return nil
	}
	for _, p := range view.Places(v.Target.Names.Places.Main()) {
		return FrameOfPlace(v.Target, p)
	}
	return nil
}

// note tells the user something about a value, once in a run.
func (v *Values) note(text string) {
	if !v.Target.Said[text] {
		v.Target.Said[text] = true
		v.Target.Notify("%s", text)
	}
}

// lookup finds a symbol that debug information does not describe, for a thread-local variable the
// one in the selected thread. global leaves local symbols out.
func (v *Values) lookup(name string, global bool) (at addr.Run, code, ok bool) {
	for _, m := range v.Target.Names.Images() {
		sym, ok := m.Object.Symtab.Symbol(name)
		if !ok || !sym.Defined || global && sym.Local {
			continue
		}
		if sym.Type == elf.TypeTLS {
			at, err := v.threadLocal(values.Module{Obj: m.Object, Bias: m.Bias}, uint64(sym.Addr))
			return at, false, err == nil
		}
		return sym.Addr.Run(m.Bias), sym.IsCode(), true
	}
	return 0, false, false
}

// sessionMemory is the inferior's memory, or before it runs what its file says that
// it will be.
type sessionMemory struct{ target *target.Target }

func (m sessionMemory) ReadAt(b []byte, off int64) (int, error) {
	if m.target.Mode() == target.Saved {
		return 0, ErrCaptureValues // what the files say is how it began, not how it was
	}
	if m.target.Past {
		return 0, m.target.PastError()
	}
	if m.target.Image != nil {
		return m.target.Image.ReadAt(b, off)
	}
	for _, o := range m.target.Names.Images() {
		if uint64(addr.Run(off).File(o.Bias)) < headerSize(o.Object) {
			continue // null and what is near it is no memory of the program
		}
		if o.Object.File.ReadAddr(b, addr.Run(off).File(o.Bias)) {
			return len(b), nil
		}
	}
	return 0, target.ErrNotRunning
}

// headerSize is how many bytes of a file that is linked to begin at 0, as
// position-independent ones are, its ELF and program headers take; 0 of others.
func headerSize(o *symbols.Object) uint64 {
	head := make([]byte, 64)
	if !o.File.ReadAddr(head, 0) || string(head[:4]) != "\x7fELF" {
		return 0
	}
	return binary.LittleEndian.Uint64(head[32:]) + 56*uint64(binary.LittleEndian.Uint16(head[56:])) // e_phoff, e_phnum
}

func (m sessionMemory) WriteAt(b []byte, off int64) (int, error) {
	if err := m.target.Live(); err != nil {
		return 0, err
	}
	return m.target.Proc.WriteAt(b, off)
}

func (v *Values) modules() []values.Module {
	var out []values.Module
	for _, m := range v.Target.Names.Images() {
		out = append(out, values.Module{Obj: m.Object, Bias: m.Bias})
	}
	return out
}

// errGoValues is the error for programs of Go that do not run.
var errGoValues = errors.New("the values of a Go program are read while it runs: start it with run or attach to it")

// Frame is the selected frame; nil without a running program, where statics and
// convenience variables alone have values.
func (v *Values) Frame() (*values.Frame, error) {
	switch {
	case v.Target.Recalled(), v.Target.Image == nil:
		return nil, nil
	}
	if _, err := v.sel.LiveFrame(); err != nil {
		return nil, err
	}
	st, err := v.sel.Stack(0)
	if err != nil {
		return nil, err
	}
	return v.FrameAt(st.Whole(), min(v.sel.Cur.Num, len(st.Frames)-1)), nil
}

// FrameAt prepares frame i of a stack.
func (v *Values) FrameAt(frames []names.Frame, i int) *values.Frame {
	if i < 0 || i >= len(frames) {
		return nil
	}
	fr := frames[i]
	first, next := i, i+1
	for first > 0 && frames[first-1].Inlined && frames[first-1].Code == fr.Code && frames[first-1].CFA == fr.CFA {
		first--
	}
	for last := i; frames[last].Inlined && last+1 < len(frames) && frames[last+1].Code == fr.Code; last++ {
		next = last + 2
	}
	f := &values.Frame{PC: fr.Code, Inlined: i - first + fr.Ahead, Regs: fr.Regs, CFA: fr.CFA, Module: v.moduleAt(fr.Code.Lookup())}
	f.Caller = func() *values.Frame { return v.FrameAt(frames, next) }
	if first == 0 {
		f.Set, f.Wide, f.SetWide = v.Regs.set, v.Regs.Wide(), v.Regs.setWide
	} else {
		f.WideLeft, f.Callee = v.Regs.Wide(), func() *values.Frame { return v.FrameAt(frames, first-1) }
	}
	return f
}

func (v *Values) moduleAt(a addr.Run) values.Module {
	if obj, mod := v.Target.Names.Modules.ObjectAt(a); obj != nil {
		return values.Module{Obj: obj, Bias: mod.Bias}
	}
	return values.Module{}
}

// changed makes the stack be walked anew: what was written may be a part of it.
func (v *Values) changed() { v.sel.WalkAgain() }

// A NamedValue is a variable with its value as text.
type NamedValue struct{ Name, Type, Value string }

// lost tells that the value, or a part of it, was optimized out.
func (x NamedValue) lost() bool { return strings.Contains(x.Value, "<optimized out>") }

// ErrCaptureValues is why a capture answers only what needs no memory: arithmetic and types.
var ErrCaptureValues = errors.New("a capture keeps no values of variables: they are read while the program runs")

// ErrCaptureObjects is why a capture answers nothing about the objects and the heap of Python.
var ErrCaptureObjects = errors.New("a capture does not have the process's memory, which this needs; it has Python's functions and lines (py bt, py list)")

// Guarded runs fn over the selected frame. Reading debug information whose file is cut
// meanwhile is an error.
func (v *Values) Guarded(fn func(f *values.Frame) error) error {
	f, err := v.Frame()
	if err != nil {
		return err
	}
	if fault := symbols.Guard(func() { err = fn(f) }); fault != nil {
		return fault
	}
	var memory *values.MemoryError
	var none *values.NoSymbolError
	unknown := errors.As(err, &none) || errors.Is(err, values.ErrNoFrame)
	switch program := v.Target.Names.Program; {
	case v.Target.Mode() == target.Saved && (errors.As(err, &memory) || unknown):
		return ErrCaptureValues
	case v.Target.Past && (errors.As(err, &memory) || unknown):
		return v.Target.PastError()
	case v.Target.Image == nil && unknown && program == nil:
		return target.ErrNoProgram
	case v.Target.Image == nil && err != nil && program.Go(): // names are read as those of C
		return errGoValues
	}
	return err
}

// Locals are the variables of the selected frame, innermost block first.
func (v *Values) Locals(o values.Options) ([]NamedValue, error) {
	return v.variables(o, false, v.World.Locals, (*delve.Program).Locals)
}

// Args are its parameters.
func (v *Values) Args(o values.Options) ([]NamedValue, error) {
	return v.variables(o, false, v.World.Args, (*delve.Program).Args)
}

// FrameArgs are the parameters of a frame of the selected stack, by its number. With
// scalars those that have members or elements are "...".
//
// While only the inner frames of the stack are known, the others are asked for where a value
// is missing: callers may have kept it.
func (v *Values) FrameArgs(num int, o values.Options, scalars bool) (out []NamedValue, err error) {
	defer func(frame int) { v.sel.Cur.Num = frame }(v.sel.Cur.Num)
	v.sel.Cur.Num = num
	read := func() { out, err = v.variables(o, scalars, v.World.Args, (*delve.Program).Args) }
	if v.sel.Cur.Max == 0 && num < len(v.sel.Cur.Stack.Frames) {
		v.sel.Cur.Max = view.DefaultDepth
		read()
		v.sel.Cur.Max = 0
		if err == nil && !slices.ContainsFunc(out, NamedValue.lost) {
			return out, nil
		}
	}
	read()
	return out, err
}

// FrameLocals are the variables of a frame of the selected stack, by its number.
func (v *Values) FrameLocals(num int, o values.Options) (out []NamedValue, err error) {
	defer func(frame int) { v.sel.Cur.Num = frame }(v.sel.Cur.Num)
	v.sel.Cur.Num = num
	return v.Locals(o)
}

// elided represents a value that is not shown.
const elided = "..."

func (v *Values) variables(o values.Options, scalars bool, list func(*values.Frame) ([]values.Variable, error),
	goList func(*delve.Program, delve.Place, delve.Limits) ([]delve.Value, error)) (out []NamedValue, err error) {
	if err := v.Target.Readable(); err != nil {
		return nil, err
	}
	g, at, err := v.goFrame()
	if err != nil {
		return nil, err
	}
	if g != nil {
		vars, err := goList(g, at, GoLimits(o, false))
		return goVariables(vars, o, scalars), err
	}
	err = v.Guarded(func(f *values.Frame) error {
		vars, err := list(f)
		for _, x := range vars {
			text := elided
			if !scalars || v.World.Summary(x.Value) {
				text = v.World.Format(f, x.Value, o)
			}
			out = append(out, NamedValue{x.Name, x.Value.Type.String(), text})
		}
		return err
	})
	return out, err
}

// Print computes an expression, which may assign, and keeps its value as $N; N is 0 for one
// without a value.
func (v *Values) Print(expr string, o values.Options) (n int, text string, err error) {
	return v.print(expr, o, v.World.KeepAny)
}

// Call is Print, except a void value, which is neither kept nor told: n is 0 then.
func (v *Values) Call(expr string, o values.Options) (n int, text string, err error) {
	return v.print(expr, o, v.World.Keep)
}

// Output is Print for a value that is not kept: text alone.
func (v *Values) Output(expr string, o values.Options) (text string, err error) {
	_, text, err = v.print(expr, o, func(values.Value) int { return 1 })
	return text, err
}

func (v *Values) print(expr string, o values.Options, keep func(values.Value) int) (n int, text string, err error) {
	if ok, err := v.AsGo(expr, func(g *delve.Program, at delve.Place) (err error) {
		text, err = goPrint(g, at, expr, o)
		return err
	}); ok {
		return 0, text, err
	}
	err = v.Guarded(func(f *values.Frame) error {
		x, err := v.World.Assign(f, expr)
		if err != nil {
			return err
		}
		if err := v.World.Unreadable(x); err != nil {
			return err
		}
		if n = keep(x); n > 0 {
			text = v.World.FormatTop(f, x, o)
		}
		return nil
	})
	v.assigned(expr)
	return n, text, err
}

// A Returned is what a function has returned.
type Returned struct {
	Num   int    // in the history; 0: nothing was returned, as from a void function
	Type  string // as declared
	Value string
}

// Returned is returned of a function that Finish ran to the end of, right after it. The value is kept as $N. An error is why
// only registers are known.
func (v *Values) Returned(from names.Frame, o values.Options) (Returned, error) {
	return v.ReturnedBy(from, o, v.World.Keep)
}

// ReturnedBy is what a function has returned from whose frame the selected thread has just come
// back. keep numbers the value: 0 for a void one.
func (v *Values) ReturnedBy(from names.Frame, o values.Options, keep func(values.Value) int) (out Returned, err error) {
	t := v.sel.Cur.Thread
	if t == nil {
		return out, target.ErrNoStack
	}
	regs, err := t.Regs()
	if err != nil {
		return out, err
	}
	caller := &values.Frame{Regs: regs.Unwind(), Wide: v.Regs.Wide()}
	if fault := symbols.Guard(func() {
		f := v.FrameAt([]names.Frame{from}, 0)
		var x values.Value
		if x, err = v.World.Returned(f, caller); err == nil {
			err = v.World.Unreadable(x)
		}
		if err != nil {
			return
		}
		out.Type = x.Type.String()
		if out.Num = keep(x); out.Num > 0 {
			out.Value = v.World.FormatTop(f, x, o)
		}
	}); fault != nil {
		return out, fault
	}
	return out, err
}

// BlockOf is the block that an expression's variables belong to in the selected frame.
func (v *Values) BlockOf(expr string) (b values.Block) {
	_ = v.Guarded(func(f *values.Frame) error {
		b = v.World.BlockOf(f, expr)
		return nil
	})
	return b
}

// Within reports whether the selected frame is in a block.
func (v *Values) Within(b values.Block) (in bool) {
	err := v.Guarded(func(f *values.Frame) error {
		in = f.Within(b)
		return nil
	})
	return in && err == nil || b == (values.Block{})
}

// Show is Print without history, for display.
func (v *Values) Show(expr string, o values.Options) (text string, err error) {
	if ok, err := v.AsGo(expr, func(g *delve.Program, at delve.Place) (err error) {
		text, err = goPrint(g, at, expr, o)
		return err
	}); ok {
		return text, err
	}
	err = v.Guarded(func(f *values.Frame) error {
		x, err := v.World.Eval(f, expr)
		if err == nil {
			text = v.World.FormatTop(f, x, o)
		}
		return err
	})
	return text, err
}

// Set computes an expression that may assign.
func (v *Values) Set(expr string) error {
	if ok, err := v.AsGo(expr, func(g *delve.Program, at delve.Place) error { return v.goSet(g, at, expr) }); ok {
		return err
	}
	err := v.Guarded(func(f *values.Frame) error {
		_, err := v.World.Assign(f, expr)
		return err
	})
	v.assigned(expr)
	return err
}

// assigned follows an expression that may have changed memory or registers.
func (v *Values) assigned(expr string) {
	if v.Target.Proc != nil && (strings.Contains(expr, "=") || strings.Contains(expr, "++") || strings.Contains(expr, "--")) {
		v.changed()
	}
}

// Holds reports whether an expression that may assign has a value other than zero.
func (v *Values) Holds(expr string) (bool, error) {
	holds, err := v.holds(expr, (*values.World).True)
	v.assigned(expr)
	return holds, err
}

// TypeOf names the type of an expression; with members when whole, and as o says then.
// columns: the members have their offsets and sizes.
func (v *Values) TypeOf(expr string, whole bool, o values.TypeOptions) (text string, columns bool, err error) {
	if ok, err := v.AsGo(expr, func(g *delve.Program, at delve.Place) (err error) {
		text, err = g.TypeOf(at, expr, whole)
		return err
	}); ok {
		return text, false, err
	}
	err = v.Guarded(func(f *values.Frame) error {
		t, isType, err := v.World.EvalType(f, expr)
		switch {
		case err != nil:
			return err
		case whole:
			text, columns = t.TextWith(o), o.Offsets && t.HasOffsets()
		case isType:
			text = t.Unrolled().String()
		default:
			text = t.String()
		}
		return nil
	})
	return text, columns, err
}

// VirtualTables are the virtual tables of the object that an expression is or points to.
func (v *Values) VirtualTables(expr string) (list []values.VirtualTable, err error) {
	err = v.Guarded(func(f *values.Frame) error {
		list, err = v.World.VirtualTables(f, expr)
		return err
	})
	return list, err
}

// Address is what an expression says as an address, and the numbers that are there by its
// type.
func (v *Values) Address(expr string) (a addr.Run, unit values.Unit, err error) {
	if ok, err := v.AsGo(expr, func(g *delve.Program, at delve.Place) (err error) {
		a, err = goAddress(g, at, expr)
		return err
	}); ok {
		return a, unit, err
	}
	err = v.Guarded(func(f *values.Frame) error {
		a, unit, err = v.World.Address(f, expr)
		return err
	})
	return a, unit, err
}

// ErrGoPlace is the error for expressions of Go where a place is wanted.
var ErrGoPlace = errors.New("the places of Go variables cannot be shown: for an address use print &NAME")

// Place is where the value of an expression is.
func (v *Values) Place(expr string) (p values.Place, err error) {
	if ok, err := v.AsGo(expr, func(*delve.Program, delve.Place) error { return ErrGoPlace }); ok {
		return p, err
	}
	err = v.Guarded(func(f *values.Frame) error {
		p, err = v.World.Place(f, expr)
		return err
	})
	return p, err
}
