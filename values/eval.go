package values

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
)

// An evaluator computes an expression in a frame.
type evaluator struct {
	lookup
	w *World
	// assign allows the expression to change the program.
	assign bool
	calls  bool // functions of the program may be called
	// typesOnly asks what an expression would be: nothing is called for it.
	typesOnly bool
	bare      bool // names that the program has not got may be Words
	depth     int
}

// evaluator is an evaluator in a frame.
func (w *World) evaluator(f *Frame) *evaluator {
	return &evaluator{lookup: lookup{&w.Program, f}, w: w}
}

// Eval computes an expression without changing anything. A nil frame knows statics
// only.
func (w *World) Eval(f *Frame, src string) (Value, error) { return w.eval(f, src, false) }

// Assign computes an expression that may assign.
func (w *World) Assign(f *Frame, src string) (Value, error) { return w.eval(f, src, true) }

func (w *World) eval(f *Frame, src string, assign bool) (Value, error) {
	e := w.evaluator(f)
	e.assign, e.calls = assign, true
	return e.compute(src)
}

// compute parses an expression and computes its value.
func (e *evaluator) compute(src string) (Value, error) {
	n, err := parse(src, e)
	if err != nil {
		return Value{}, err
	}
	v, err := e.eval(n)
	if err == nil && v.Type == nil {
		err = errors.New("the expression has no value")
	}
	return v, err
}

// EvalType is the type of an expression, or the type that the expression names;
// isType says which.
func (w *World) EvalType(f *Frame, src string) (t *Type, isType bool, err error) {
	e := w.evaluator(f)
	e.typesOnly = true
	n, err := parse(src, e)
	if err != nil {
		return nil, false, err
	}
	if n.op == nodeType {
		return n.typ, true, nil
	}
	v, err := e.evalAny(n)
	if err != nil {
		return nil, false, err
	}
	return v.Type, false, nil
}

func (e *evaluator) typeFor(tag dwarf.Tag, name string) *Type {
	if tag == 0 && e.f != nil {
		if _, ok := e.local(name); ok {
			return nil
		}
	}
	return e.typeNamed(tag, strings.TrimPrefix(name, "::"))
}

func (e *evaluator) rust() bool { return e.f.language() == "rust" }

func (e *evaluator) truth(b bool) Value {
	if e.f.language() == "c" {
		return Number(e.prog.cType("int"), truth(b))
	}
	return Number(e.prog.cType("bool"), truth(b))
}

func (e *evaluator) int() *Type {
	if e.f.language() == "rust" {
		t := baseType(e.prog, "i32", 4, encSigned)
		t.lang = dwarf.LangRust
		return t
	}
	return e.prog.cType("int")
}

// eval computes an operand. Its type has to be known.
func (e *evaluator) eval(n *node) (Value, error) {
	v, err := e.evalAny(n)
	if err == nil && v.Type != nil && v.Type.untyped {
		name := "the value"
		if n.op == nodeName {
			name = "'" + n.text + "'"
		}
		return Value{}, &UntypedError{name}
	}
	return v, err
}

// evalAny computes an operand that may be data of an unknown type.
func (e *evaluator) evalAny(n *node) (Value, error) {
	if n == nil {
		return Value{}, errors.New("an operand is missing")
	}
	if e.depth++; e.depth > 2*maxParse+len(levels) && e.depth > 4096 {
		return Value{}, errors.New("expression nests too deeply")
	}
	defer func() { e.depth-- }()
	switch n.op {
	case nodeName:
		return e.name(n.text)
	case nodeNumber:
		return e.number(n.text)
	case nodeChar:
		r, err := charOf(n.text)
		return Number(e.prog.cType("char"), uint64(r)), err
	case nodeString:
		t := e.prog.cType("char").ArrayOf(int64(len(n.text) + 1))
		return Value{Type: t, data: append([]byte(n.text), 0)}, nil
	case nodeDollar:
		return e.dollar(n.text)
	case nodeType:
		return Value{}, fmt.Errorf("%s is a type: use ptype, whatis or sizeof", n.typ)
	case nodeSizeof:
		return e.sizeof(n)
	case nodeAlignof:
		return Number(e.prog.cType("unsigned long"), uint64(n.typ.Alignment())), nil
	case nodeInFile:
		return e.inFile(n.text, n.a.text)
	case nodeUnary:
		return e.unary(n)
	case nodeCall:
		return e.call(n)
	case nodeSelect, "&&", "||":
		return e.choice(n)
	case "=":
		return e.assignment(n)
	case nodeAfter:
		return e.assignedAfter(n)
	}
	if n.op == nodeCast && n.a.op == nodeCall && n.a.a.op == nodeName {
		a, err := e.callFunction(n.a, n.typ)
		if err != nil {
			return Value{}, err
		}
		return e.cast(a, n.typ)
	}
	if n.op == nodeCast {
		a, err := e.evalAny(n.a)
		if err != nil {
			return Value{}, err
		}
		return e.cast(a, n.typ)
	}
	a, err := e.eval(n.a)
	if err != nil {
		return Value{}, err
	}
	switch n.op {
	case nodeAt:
		at, err := e.address(a)
		return MemoryValue(n.typ, at), err
	case nodeMember, nodeArrow:
		return e.member(a, n.text, n.op == nodeArrow)
	}
	b, err := e.eval(n.b)
	if err != nil {
		return Value{}, err
	}
	switch n.op {
	case ",":
		return b, nil
	case nodeIndex:
		return e.index(a, b)
	case "@":
		return e.repeat(a, b)
	}
	return e.binary(n.op, a, b)
}

func (e *evaluator) sizeof(n *node) (Value, error) {
	t := n.typ
	if t == nil {
		defer func(only bool) { e.typesOnly = only }(e.typesOnly)
		e.typesOnly = true
		v, err := e.eval(n.a)
		if err != nil {
			return Value{}, err
		}
		t = v.Type
	}
	if s := t.Strip(); s.Kind == Reference || s.Kind == RvalueReference {
		t = s.Elem()
	}
	return Number(e.prog.cType("unsigned long"), uint64(t.Size())), nil
}

// integer reads a number of C: its value and suffix.
func integer(s string) (uint64, string, error) {
	digits := strings.TrimRight(s, "uUlL")
	suffix := strings.ToLower(s[len(digits):])
	digits = strings.ReplaceAll(digits, "_", "")
	base := 10
	switch {
	case strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0X"):
		base, digits = 16, digits[2:]
	case strings.HasPrefix(digits, "0b") || strings.HasPrefix(digits, "0B"):
		base, digits = 2, digits[2:]
	case len(digits) > 1 && digits[0] == '0':
		base = 8
	}
	n, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return 0, "", fmt.Errorf("%q: not a number", s)
	}
	return n, suffix, nil
}

func (e *evaluator) number(s string) (Value, error) {
	n, suffix, err := integer(s)
	if err != nil {
		text := s
		t := e.prog.cType("double")
		if !strings.HasPrefix(s, "0x") && strings.HasSuffix(strings.ToLower(s), "f") {
			text, t = s[:len(s)-1], e.prog.cType("float")
		}
		f, ferr := strconv.ParseFloat(text, 64)
		if ferr != nil {
			return Value{}, err
		}
		return Number(t, floatBits(f, int(t.size))), nil
	}
	t := e.int()
	unsigned := strings.Contains(suffix, "u")
	switch {
	case strings.Contains(suffix, "l") || n > math.MaxUint32 || n > math.MaxInt32 && !unsigned:
		t = e.prog.cType("long")
		if unsigned || n > math.MaxInt64 {
			t = e.prog.cType("unsigned long")
		}
	case unsigned:
		t = e.prog.cType("unsigned int")
	}
	return Number(t, n), nil
}

// dollar is a register, an entry of the history, or a convenience variable.
func (e *evaluator) dollar(name string) (Value, error) {
	h := e.w.History
	if name == "" || strings.Trim(name, "$") == "" { // $ and $$
		return e.history(len(h)-len(name), "$"+name)
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "$")); err == nil {
		if name[0] == '$' {
			return e.history(len(h)-n, "$"+name)
		}
		return e.history(n, "$"+name)
	}
	if v, ok := e.convenience(name); ok {
		return v, nil
	}
	v, err := e.register(name)
	if errors.Is(err, errNoRegister) {
		return e.prog.void(), nil
	}
	return v, err
}

func (e *evaluator) history(n int, text string) (Value, error) {
	if n < 1 || n > len(e.w.History) {
		if len(e.w.History) == 0 && strings.Trim(text, "$") == "" {
			return e.prog.void(), nil
		}
		return Value{}, fmt.Errorf("%s: the history has %d values", text, len(e.w.History))
	}
	return e.w.History[n-1], nil
}

// name finds the entity that a name means: a local variable, a member of this, a static
// variable or a function.
func (e *evaluator) name(name string) (Value, error) {
	global := strings.HasPrefix(name, "::")
	name = strings.TrimPrefix(name, "::")
	if !global && e.f != nil {
		if v, ok := e.local(name); ok {
			return v, nil
		}
		if this, ok := e.this(); ok && name != "this" {
			if v, err := e.prog.memberNamed(this, name); err == nil {
				return v, nil
			}
		}
	}
	switch name {
	case "true", "false":
		if e.f.language() != "c" {
			return e.truth(name == "true"), nil
		}
	}
	prefixes := []string{""}
	if !global {
		prefixes = e.f.prefixes()
	}
	if v, ok, err := e.nonLocal(name, prefixes); ok || err != nil {
		return v, err
	}
	if i := strings.LastIndex(name, "::"); i > 0 {
		if v, ok := e.staticOf(name[:i], name[i+2:]); ok {
			return v, nil
		}
		if v, ok := e.localOf(name[:i], name[i+2:]); ok {
			return v, nil
		}
	}
	if v, ok := e.symbol(name, false); ok {
		return v, nil
	}
	if e.bare {
		if v, ok := e.w.word(name); ok {
			return v, nil
		}
	}
	return Value{}, &NoSymbolError{name}
}

// maxCallers bounds the frames in which a variable of a function is searched for.
const maxCallers = 256

// localOf is a variable of the innermost frame of a function.
func (e *evaluator) localOf(function, name string) (Value, bool) {
	f := e.f
	for n := 0; f != nil && n < maxCallers; n++ {
		if s, err := f.scope(); err == nil && scope.Describe(s.Blocks[len(s.Blocks)-1]).Name == function {
			return lookup{e.prog, f}.local(name)
		}
		if f.Caller == nil {
			break
		}
		f = f.Caller()
	}
	return Value{}, false
}

// inFile is a variable or function of the unit of that source file, or a variable of the
// function of that name.
func (e *evaluator) inFile(file, name string) (Value, error) {
	for _, m := range e.prog.modules(e.f) {
		here := []string{""}
		for _, d := range slices.Concat(e.variablesNamed(m, m.placed(name), name, here), m.functionsNamed(name, here)) {
			if unit := unitName(home(d.DIE)); unit == file || strings.HasSuffix(unit, "/"+file) {
				return e.entityValue(m, d), nil
			}
		}
	}
	if v, ok := e.staticOf(file, name); ok {
		return v, nil
	}
	return Value{}, &NoSymbolError{"'" + file + "'::" + name}
}

// staticOf is a static variable of a function, or a static member found by its class.
func (e *evaluator) staticOf(outer, name string) (Value, bool) {
	if t := e.typeNamed(0, outer); t != nil {
		for _, f := range t.Strip().Fields() {
			if f.Name == name && f.Static {
				return e.prog.staticMember(t.Strip(), &f)
			}
		}
	}
	for _, m := range e.prog.modules(e.f) {
		for _, fn := range m.Obj.FindFunctions(outer) {
			for _, s := range m.Obj.DWARF.Scopes(fn.Low) {
				if s.Blocks[len(s.Blocks)-1].Off != s.Physical.Off {
					continue
				}
				if d, ok := staticIn(s.Physical, name); ok {
					return m.valueOf(nil, d), true
				}
			}
		}
	}
	return Value{}, false
}

func staticIn(fn dwarf.DIE, name string) (dwarf.DIE, bool) {
	w := fn.Walk()
	for w.Next() {
		if w.DIE.Tag() == dwarf.TagVariable {
			if n, _ := w.DIE.Attr(dwarf.AtName); string(n.Str()) == name {
				return w.DIE, true
			}
		}
	}
	return dwarf.DIE{}, false
}

// Keep adds a value to the history and returns its number. The history has a copy of the
// value, so that later changes of memory do not show.
func (w *World) Keep(v Value) int {
	if v.err != nil || v.Type.Strip().Kind == Void {
		return 0
	}
	return w.KeepAny(v)
}

// KeepAny is Keep, also of a void value.
func (w *World) KeepAny(v Value) int {
	if v.err != nil {
		return 0
	}
	w.History = append(w.History, w.Load(v))
	return len(w.History)
}

// Unrolled resolves one level of typedef, as gdb's whatis of a type does.
func (t *Type) Unrolled() *Type {
	if t.Kind == Typedef {
		return t.Elem()
	}
	return t
}
