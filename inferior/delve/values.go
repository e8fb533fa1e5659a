package delve

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"math"
	"reflect"
	"strconv"
	"strings"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/lazyregexp"

	"github.com/go-delve/delve/pkg/dwarf/godwarf"
	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"
)

// A Place is a frame of a thread's stack, in terms that hdb's walk and delve's
// share.
type Place struct {
	Thread  *inferior.Thread
	Parked  *ParkedGoroutine // whose stack it is, nil: the thread's
	CFA     addr.Run
	PC      addr.Run
	Inlined int // how many frames at the same PC are inner
	Index   int // from the innermost frame on
}

// Limits bound what is read of a value.
type Limits struct {
	Elements int // of strings, slices, arrays and maps, each
	Depth    int // of structs, slices and pointers in one another
	Follow   bool
}

// maxNodes bounds the parts of one value, whatever the limits multiply to.
const maxNodes = 1 << 16

// A Value is a variable or value of a Go program. What it consists of is below it: the elements
// of a slice or array, the fields of a struct, a map's keys and values alternating, what a pointer
// or interface holds.
type Value struct {
	Name     string
	Type     string
	Kind     reflect.Kind
	Text     string // of a number, bool, function or complex number; a string's contents
	Len, Cap int64  // of what has a length, however much was read; Cap -1 optimized out
	Addr     uint64 // where it is, 0 unknown
	Base     uint64 // what a slice, string, map or channel points to, 0 nil
	Unread   bool   // below the limits' depth: only the address is known
	Shadowed bool   // another variable of the name is nearer
	Err      string // why it has no value, "" when it has
	Bits     uint64 // of an integer, pointer or floating-point number
	Children []Value
}

// scope prepares the evaluation of names in a frame.
func (g *Program) scope(at Place) (*proc.EvalScope, error) {
	if err := g.refresh(at.Thread); err != nil {
		return nil, err
	}
	on := g.target.CurrentThread()
	if own, ok := on.(*thread); ok && at.Parked != nil {
		on = &parkedThread{thread: own, goroutine: at.Parked}
	}
	frames, err := proc.ThreadStacktrace(g.target, on, at.Index+16)
	if err != nil {
		return nil, fmt.Errorf("stack of thread %d: %w", at.Thread.TID, err)
	}
	found := -1
	for i, f := range frames {
		if uint64(f.Regs.CFA) == uint64(at.CFA) && f.Current.PC == uint64(at.PC) || at.CFA == 0 && f.Current.PC == uint64(at.PC) {
			found = i + at.Inlined
			break
		}
	}
	if found < 0 || found >= len(frames) {
		return nil, errors.New("the frame is not on the goroutine's stack: its variables are unknown")
	}
	gr, err := proc.GetG(on)
	if err != nil {
		gr = nil // a thread of the runtime runs none
	}
	return proc.FrameToScope(g.target, g.target.Memory(), gr, at.Thread.TID, frames[found:]...), nil
}

func (l Limits) config() proc.LoadConfig {
	return proc.LoadConfig{FollowPointers: l.Follow, MaxVariableRecurse: l.Depth, MaxStringLen: l.Elements,
		MaxArrayValues: l.Elements, MaxStructFields: -1, MaxMapBuckets: 10 * l.Elements}
}

// Locals are the variables of a frame that are no parameters.
func (g *Program) Locals(at Place, l Limits) ([]Value, error) {
	return g.variables(at, l, (*proc.EvalScope).LocalVariables)
}

// Args are its parameters and named results.
func (g *Program) Args(at Place, l Limits) ([]Value, error) {
	return g.variables(at, l, (*proc.EvalScope).FunctionArguments)
}

func (g *Program) variables(at Place, l Limits, list func(*proc.EvalScope, proc.LoadConfig) ([]*proc.Variable, error)) (out []Value, err error) {
	defer caught(&err)
	s, err := g.scope(at)
	if err != nil {
		return nil, err
	}
	vars, err := list(s, l.config())
	if err != nil {
		return nil, oneLine(err)
	}
	for _, v := range vars {
		if strings.HasPrefix(v.Name, "~") || v.Name == "_" || v.Name == "" {
			continue // results without a name
		}
		left := maxNodes
		value := valueOf(v, &left)
		if lost := lostWith(v.LocationExpr.String(), &s.Regs); lost != "" {
			value = Value{Name: v.Name, Type: v.TypeString(), Kind: v.Kind, Shadowed: value.Shadowed, Err: lost}
		}
		out = append(out, value)
	}
	return out, nil
}

// Eval computes an expression of Go in a frame. Nothing is called.
func (g *Program) Eval(at Place, expr string, l Limits) (out Value, err error) {
	defer caught(&err)
	s, err := g.scope(at)
	if err != nil {
		return Value{}, err
	}
	if err := lostOperand(s, expr); err != nil {
		if lost := (*lostError)(nil); errors.As(err, &lost) && lost.name == strings.TrimSpace(expr) {
			return Value{Name: lost.name, Err: lost.how}, nil
		}
		return Value{}, err
	}
	v, err := s.EvalExpression(expr, l.config())
	if err != nil {
		return Value{}, oneLine(err)
	}
	left := maxNodes
	return valueOf(v, &left), nil
}

func (g *Program) eval(at Place, expr string) (*proc.Variable, error) {
	s, err := g.scope(at)
	if err != nil {
		return nil, err
	}
	v, err := s.EvalExpression(expr, Limits{}.config())
	if err != nil {
		return nil, oneLine(err)
	}
	return v, nil
}

// A lostError is of an expression with a variable that the frame has not got.
type lostError struct{ name, how string }

func (e *lostError) Error() string { return e.name + " is " + e.how + " here" }

// lostOperand returns an error if expr uses a variable in a register that the frame has not kept: delve would compute with zeros.
func lostOperand(s *proc.EvalScope, expr string) error {
	tree, err := parser.ParseExpr(expr)
	if err != nil {
		return nil // no Go expression: delve has forms of its own
	}
	used := operands(tree)
	for _, list := range []func(*proc.EvalScope, proc.LoadConfig) ([]*proc.Variable, error){(*proc.EvalScope).FunctionArguments, (*proc.EvalScope).LocalVariables} {
		vars, err := list(s, proc.LoadConfig{})
		if err != nil {
			return oneLine(err)
		}
		for _, v := range vars {
			if !used[v.Name] || v.Flags&proc.VariableShadowed != 0 {
				continue
			}
			if lost := lostWith(v.LocationExpr.String(), &s.Regs); lost != "" {
				return &lostError{v.Name, lost}
			}
		}
	}
	return nil
}

// operands are the names in an expression that may be variables: not those of fields and of a package's variables, nor the type
// that is asserted.
func operands(tree ast.Expr) map[string]bool {
	used := map[string]bool{}
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			used[n.Name] = true
		case *ast.SelectorExpr:
			ast.Inspect(n.X, visit)
			return false
		case *ast.TypeAssertExpr: // delve takes the type "data" for whichever x holds
			ast.Inspect(n.X, visit)
			return false
		case *ast.KeyValueExpr:
			if _, field := n.Key.(*ast.Ident); field {
				ast.Inspect(n.Value, visit)
				return false
			}
		}
		return true
	}
	ast.Inspect(tree, visit)
	return used
}

// Set assigns the value of an expression to another: numbers, bools, pointers and what is in memory
// already. Nothing is allocated.
func (g *Program) Set(at Place, to, from string) (err error) {
	defer caught(&err)
	s, err := g.scope(at)
	if err != nil {
		return err
	}
	if err := cmp.Or(lostOperand(s, to), lostOperand(s, from)); err != nil {
		return err
	}
	return oneLine(s.SetVariable(to, from))
}

// TypeOf names the type of an expression, or of a type, with its members when whole.
func (g *Program) TypeOf(at Place, expr string, whole bool) (text string, err error) {
	defer caught(&err)
	v, err := g.eval(at, expr)
	if err != nil {
		other, otherErr := g.eval(at, "(*"+expr+")(0)") // a type
		if otherErr != nil {
			return "", err
		}
		p, ok := other.RealType.(*godwarf.PtrType)
		if !ok {
			return "", err
		}
		return goType(p.Type, whole), nil
	}
	if v.DwarfType == nil {
		return v.TypeString(), nil
	}
	text = goType(v.DwarfType, whole)
	if v.Kind == reflect.Interface && len(v.Children) > 0 && v.Children[0].DwarfType != nil && !whole {
		text += "(" + v.Children[0].TypeString() + ")"
	}
	return text, nil
}

// goType is a type as Go's source declares it.
func goType(t godwarf.Type, whole bool) string {
	name := t.Common().Name
	if name == "" {
		name = t.String()
	}
	if !whole {
		return name
	}
	pointers := ""
	for range 8 { // through a pointer, as ptype does for C
		p, ok := t.(*godwarf.PtrType)
		if !ok || p.Type == nil {
			break
		}
		t, pointers = p.Type, pointers+"*"
	}
	inner := godwarf.ResolveTypedef(t)
	s, ok := inner.(*godwarf.StructType)
	if !ok || s.Incomplete {
		if k := inner.Common().ReflectKind; pointers == "" && strings.Contains(name, ".") && (k <= reflect.Complex128 || k == reflect.String) && k != reflect.Invalid {
			return name + " " + k.String()
		}
		return name
	}
	if n := t.Common().Name; n != "" {
		name = pointers + n
	}
	var b strings.Builder
	b.WriteString(name + " struct {\n")
	for i, f := range s.Field {
		if i == maxNodes {
			break
		}
		if f.Embedded {
			b.WriteString("    " + goType(f.Type, false) + "\n")
		} else {
			b.WriteString("    " + f.Name + " " + goType(f.Type, false) + "\n")
		}
	}
	return b.String() + "}"
}

// oneLine makes delve's errors fit hdb's: one line.
func oneLine(err error) error {
	if err == nil {
		return nil
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	if name, ok := strings.CutPrefix(text, "could not find symbol value for "); ok {
		return fmt.Errorf("no symbol %q in the current context: see info locals, info args", name)
	}
	if before, _, ok := strings.Cut(text, "because function calls are not allowed"); ok {
		return errors.New(before + "because functions of the program cannot be called")
	}
	if strings.HasPrefix(text, "function calls not allowed") {
		return errors.New("functions of the program cannot be called")
	}
	return errors.New(text)
}

// caught makes an error of a panic: delve's reader trusts what the program's debug
// information says.
func caught(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the Go reader (delve) cannot read this value: %v", r)
	}
}

// pieceOf matches a piece of a location as delve writes it, with what says where the
// piece is, if anything does.
var pieceOf = lazyregexp.New(`(.*?)DW_OP_piece 0x([0-9a-f]+) `)

// lostFrom is the offset of the first piece that is nowhere, in bytes; delve would take
// zeros for it. -1: none is.
func lostFrom(location string) int {
	if i := strings.Index(location, "] "); i >= 0 {
		location = location[i+2:] // behind where it is from
	}
	at := 0
	for _, m := range pieceOf().FindAllStringSubmatch(location, 1024) {
		n, err := strconv.ParseUint(m[2], 16, 16)
		switch {
		case err != nil:
			return at
		case m[1] == "":
			return at
		}
		at += int(n)
	}
	return -1
}

// registerOf matches a register in a location as delve writes it.
var registerOf = lazyregexp.New(`DW_OP_b?reg(?:x (0x[0-9a-f]+)|([0-9]+))`)

// lostWith says of a location that the frame has not got one of its registers: functions of Go keep none for their
// callers. It is "" if the frame has all.
func lostWith(location string, regs *op.DwarfRegisters) string {
	for _, m := range registerOf().FindAllStringSubmatch(location, 1024) {
		n, err := strconv.ParseUint(m[1]+m[2], 0, 16)
		switch {
		case err == nil && regs.Reg(n) != nil:
		case strings.Contains(location, "DW_OP_piece"):
			return "optimized out in part"
		default:
			return "optimized out"
		}
	}
	return ""
}

// valueOf copies what delve has read. left is how many parts may still be copied.
func valueOf(v *proc.Variable, left *int) Value {
	out := Value{Name: v.Name, Type: v.TypeString(), Kind: v.Kind, Len: v.Len, Cap: v.Cap, Addr: v.Addr, Base: v.Base,
		Unread: v.OnlyAddr, Shadowed: v.Flags&proc.VariableShadowed != 0}
	switch lost := lostFrom(v.LocationExpr.String()); {
	case lost >= 16 && v.Kind == reflect.Slice: // behind the pointer and the length
		out.Cap = -1
	case lost >= 0:
		out.Err = "optimized out in part"
		return out
	}
	if v.Unreadable != nil {
		out.Err = oneLine(v.Unreadable).Error()
		return out
	}
	out.Text, out.Bits = goText(v)
	for i := range v.Children {
		if *left--; *left < 0 {
			break
		}
		out.Children = append(out.Children, valueOf(&v.Children[i], left))
	}
	if v.Kind == reflect.Pointer || v.Kind == reflect.UnsafePointer {
		if len(v.Children) > 0 {
			out.Bits = v.Children[0].Addr
		}
	}
	return out
}

// goText is the text of a value without parts, and its bits.
func goText(v *proc.Variable) (string, uint64) {
	if v.Value == nil {
		switch v.FloatSpecial {
		case proc.FloatIsNaN:
			return "NaN", math.Float64bits(math.NaN())
		case proc.FloatIsPosInf:
			return "+Inf", math.Float64bits(math.Inf(1))
		case proc.FloatIsNegInf:
			return "-Inf", math.Float64bits(math.Inf(-1))
		}
		return "", 0
	}
	switch v.Kind {
	case reflect.String, reflect.Func, reflect.Struct:
		return constant.StringVal(v.Value), 0
	case reflect.Float32, reflect.Float64:
		if v.FloatSpecial != proc.FloatIsNormal {
			w := *v
			w.Value = nil
			return goText(&w)
		}
		f, _ := constant.Float64Val(constant.ToFloat(v.Value))
		size := 64
		if v.Kind == reflect.Float32 {
			return strconv.FormatFloat(f, 'g', -1, 32), uint64(math.Float32bits(float32(f)))
		}
		return strconv.FormatFloat(f, 'g', -1, size), math.Float64bits(f)
	}
	bits := uint64(0)
	if n, ok := constant.Int64Val(constant.ToInt(v.Value)); ok {
		bits = uint64(n)
	} else if n, ok := constant.Uint64Val(constant.ToInt(v.Value)); ok {
		bits = n
	}
	text := v.Value.ExactString()
	if v.Value.Kind() == constant.Complex {
		re, _ := constant.Float64Val(constant.Real(v.Value))
		im, _ := constant.Float64Val(constant.Imag(v.Value))
		text = strconv.FormatComplex(complex(re, im), 'g', -1, 128)
	}
	if d := v.ConstDescr(); d != "" {
		text = d + " (" + text + ")"
	}
	return text, bits
}
