package values

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hdb/symbols/dwarf"
)

// An evaluator computes an expression in a frame.
type evaluator struct {
	// functions has typesOnly, by which also nothing is changed, not even a convenience
	// variable.
	functions
	assign   bool // the expression may change the program
	checking bool // whether the expression can have a value is asked: nothing is changed
	bare     bool // names that the program has not got may be Words
	depth    int
	tracked  bool // blocks are noted in used
	used     int  // blocks from the function to the innermost whose variable was named; 0: none
}

// evaluator is an evaluator in a frame.
func (w *World) evaluator(f *Frame) *evaluator {
	l := language{&w.Program, f}
	return &evaluator{functions: functions{lookup: lookup{l}, ops: operators{l}, lib: library{operators{l}}, w: w}}
}

// Eval computes an expression without changing anything. A nil frame knows statics
// only.
func (w *World) Eval(f *Frame, src string) (Value, error) { return w.eval(f, src, false) }

// Assign computes an expression that may assign.
func (w *World) Assign(f *Frame, src string) (Value, error) { return w.eval(f, src, true) }

func (w *World) eval(f *Frame, src string, assign bool) (Value, error) {
	e := w.evaluator(f)
	e.assign, e.mayCall = assign, true
	return e.compute(src)
}

// compute parses an expression and computes its value.
func (e *evaluator) compute(src string) (Value, error) {
	n, err := e.parsed(src)
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
	n, err := e.parse(src)
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
	if t := e.typeNamed(tag, strings.TrimPrefix(name, "::")); t != nil {
		return t
	}
	if full := e.f.unaliased(name); full != name {
		return e.typeNamed(tag, full)
	}
	return nil
}

func (e *evaluator) rust() bool { return e.f.language() == "rust" }

func (e *evaluator) cplusplus() bool { return e.f.language() == "c++" }

func (e *evaluator) typeOf(n *node) (*Type, error) {
	if n.op == nodeType {
		return n.typ, nil
	}
	defer func(only bool) { e.typesOnly = only }(e.typesOnly)
	e.typesOnly = true
	v, err := e.eval(n)
	return v.Type, err
}

// eval computes an operand. Its type has to be known.
func (e *evaluator) eval(n *node) (Value, error) {
	v, err := e.evalAny(n)
	if err == nil && v.Type != nil && v.Type.untyped && v.Type.Kind != Function {
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
	case nodeEntry:
		return e.atEntry(n.text)
	case nodeNumber:
		return e.number(n.text)
	case nodeChar:
		return e.character(n.text, n.by)
	case nodeString:
		return e.literal(n.text, n.by), nil
	case nodeList:
		return e.list(n.a)
	case nodeDollar:
		return e.dollar(n.text)
	case nodeType:
		return Value{}, fmt.Errorf("%s is a type: use ptype, whatis or sizeof", n.typ)
	case nodeSizeof:
		return e.sizeof(n)
	case nodeAlignof:
		return e.prog.size(n.typ.Alignment()), nil
	case nodeInFile:
		return e.inFile(n.text, n.a.text)
	case nodeUnary:
		return e.unary(n)
	case nodeCall:
		return e.call(n)
	case nodeSelect, "&&", "||":
		return e.choice(n)
	case "=":
		_, v, err := e.assignment(n)
		return v, err
	case nodeAfter:
		v, _, err := e.assignment(n.a)
		return v, err
	}
	if n.op == nodeCast {
		if n.text == "dynamic_cast" {
			a, err := e.eval(n.a)
			if err != nil {
				return Value{}, err
			}
			return e.ops.dynamicCast(a, n.typ)
		}
		operand := func() (Value, error) { return e.evalAny(n.a) }
		if n.a.op == nodeCall && n.a.a.op == nodeName { // the type may be known by the cast only
			operand = func() (Value, error) { return e.callFunction(n.a, n.typ) }
		}
		a, err := operand()
		if err != nil {
			return Value{}, err
		}
		return e.ops.cast(a, n.typ)
	}
	a, err := e.eval(n.a)
	if err != nil {
		return Value{}, err
	}
	switch n.op {
	case nodeAt:
		at, err := e.ops.address(a)
		return MemoryValue(n.typ, at), err
	case nodeMember, nodeArrow:
		if target, ok := e.unknown(a); ok {
			return e.member(target, n.text, false)
		}
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
	case ".*", "->*":
		object, pointer, err := e.throughMember(a, b, n.op == "->*")
		if err != nil {
			return Value{}, err
		}
		return e.memberOf(object, pointer)
	case "@":
		return e.ops.repeat(a, b)
	}
	if v, ok, err := e.compareTexts(n, a, b); ok {
		return v, err
	}
	if v, ok, err := e.ops.compareSmart(n.op, a, b); ok {
		return v, err
	}
	if v, ok, err := e.operator("operator"+n.op, a, b); ok {
		return v, err
	}
	return e.ops.binary(n.op, a, b)
}

// through is the pointer that a class of the program returns for its ->.
func (e *evaluator) through(v Value, arrow bool) (Value, error) {
	for range maxDepth {
		object := e.prog.unref(v)
		if !arrow || object.Type.classType() == nil || object.printer() != nil {
			break
		}
		p, ok, err := e.operator("operator->", object)
		if !ok || err != nil {
			return v, err
		}
		v = p
	}
	return v, nil
}

// member computes . and ->. The name may be a member function's.
func (e *evaluator) member(a Value, name string, arrow bool) (Value, error) {
	a, err := e.through(a, arrow)
	if err != nil {
		return Value{}, err
	}
	out, err := e.lib.member(a, name, arrow)
	if err == nil {
		return out, nil
	}
	object, other := e.lib.object(a, arrow)
	if other != nil {
		return Value{}, err
	}
	if fn, ok, failed := e.function(object, name); ok {
		return fn, failed
	}
	return Value{}, err
}

// index computes []: an element by its place or key, or what the class's own operator
// returns.
func (e *evaluator) index(a, i Value) (Value, error) {
	v := e.prog.unref(a)
	if v.printer() == nil {
		if out, ok, err := e.operator("operator[]", v, i); ok {
			return out, err
		}
	}
	return e.lib.index(a, i)
}

// call computes the result of a member function of a library's class from memory, and
// has the program run other functions.
func (e *evaluator) call(n *node) (Value, error) {
	switch n.a.op {
	case nodeMember, nodeArrow:
	case nodeType: // T(x)
		if n.b == nil || n.b.b != nil {
			return Value{}, fmt.Errorf("%s(...) is a cast of one value", n.a.typ)
		}
		return e.evalAny(&node{op: nodeCast, a: n.b.a, typ: n.a.typ})
	case nodeDollar:
		if f, ok := convenienceFunctionNamed(n.a.text); ok {
			return e.convenienceCall(f, n.a.text, n.b)
		}
		if strings.HasPrefix(n.a.text, "_") && e.isConvenience(n.a.text) {
			return Value{}, typeErrorf("$%s: hdb has no such function: see help variables", n.a.text)
		}
		return e.callFunction(n, nil)
	case ".*", "->*":
		return e.callBound(n)
	default:
		return e.callFunction(n, nil)
	}
	v, err := e.eval(n.a.a)
	if err != nil {
		return Value{}, err
	}
	if v, err = e.through(v, n.a.op == nodeArrow); err != nil {
		return Value{}, err
	}
	if v, err = e.lib.object(v, n.a.op == nodeArrow); err != nil {
		return Value{}, err
	}
	args, err := e.operands(n.b)
	if err != nil {
		return Value{}, err
	}
	if v.printer() != nil {
		plain := make([]Value, len(args))
		for i, a := range args {
			plain[i] = e.prog.unref(a)
		}
		if out, err := e.lib.method(v, n.a.text, plain); !errors.Is(err, errCalls) {
			return out, err
		}
	}
	return e.callMember(v, n.a.text, args)
}

// callBound calls the member function that a pointer to one means.
func (e *evaluator) callBound(n *node) (Value, error) {
	object, err := e.eval(n.a.a)
	if err != nil {
		return Value{}, err
	}
	pointer, err := e.eval(n.a.b)
	if err != nil {
		return Value{}, err
	}
	if object, pointer, err = e.throughMember(object, pointer, n.a.op == "->*"); err != nil {
		return Value{}, err
	}
	args, err := e.operands(n.b)
	if err != nil {
		return Value{}, err
	}
	if pointer.Type.Strip().Elem().Strip().Kind != Function {
		v, err := e.memberOf(object, pointer)
		if err != nil {
			return Value{}, err
		}
		return e.callValue(v, args, nil)
	}
	if err := e.callable(); err != nil {
		return Value{}, err
	}
	c, err := e.boundFunction(object, pointer)
	if err != nil {
		return Value{}, err
	}
	return e.invoke(c, args)
}

func (e *evaluator) sizeof(n *node) (Value, error) {
	t := n.typ
	if t == nil {
		var err error
		if t, err = e.typeOf(n.a); err != nil {
			return Value{}, err
		}
	}
	if s := t.Strip(); s.Kind == Reference || s.Kind == RvalueReference {
		t = s.Elem()
	}
	if s := t.Strip(); s.complete().decl {
		return Value{}, fmt.Errorf("sizeof: the size of %s is not known: no debug information that was found has its definition", s)
	}
	return e.prog.size(t.Size()), nil
}

func (e *evaluator) unary(n *node) (Value, error) {
	if n.text == "&" {
		if n.a.op == nodeName {
			if v, ok, err := e.memberAddress(n.a.text); ok {
				return v, err
			}
		}
		a, err := e.evalAny(n.a)
		if err != nil {
			return Value{}, err
		}
		return e.ops.addressOf(a)
	}
	a, err := e.eval(n.a)
	if err != nil {
		return Value{}, err
	}
	if object := e.prog.unref(a); object.Type.classType() != nil && object.printer() == nil {
		if v, ok, err := e.operator("operator"+n.text, object); ok {
			return v, err
		}
	}
	if target, ok := e.unknown(a); ok && n.text == "*" {
		return target, nil
	}
	return e.ops.unary(n.text, a)
}

func (e *evaluator) choice(n *node) (Value, error) {
	if e.checking && n.op != nodeSelect {
		return e.checkAll(n.a, n.b)
	}
	a, err := e.eval(n.a)
	if err != nil {
		return Value{}, err
	}
	t, err := e.ops.isTrue(a)
	if err != nil {
		return Value{}, err
	}
	switch {
	case n.op == nodeSelect && t:
		return e.eval(n.b)
	case n.op == nodeSelect:
		return e.eval(n.c)
	case t == (n.op == "||"):
		return e.truth(t), nil
	}
	b, err := e.eval(n.b)
	if err != nil {
		return Value{}, err
	}
	t, err = e.ops.isTrue(b)
	return e.truth(t), err
}

// assignment writes memory or a register. It returns the new value, and that before one by an
// operator.
func (e *evaluator) assignment(n *node) (old, now Value, err error) {
	convenience := n.a.op == nodeDollar && e.isConvenience(n.a.text)
	switch {
	case e.assign, convenience, e.typesOnly:
	case n.text == "++", n.text == "--":
		return old, now, fmt.Errorf("%s changes the program: use set var", n.text)
	default:
		return old, now, errAssigns
	}
	var to Value
	if !convenience || n.by != "" {
		if to, err = e.eval(n.a); err != nil {
			return old, now, err
		}
		if e.typesOnly && !convenience {
			to = e.standIn(e.prog.unref(to).Type)
			return to, to, nil
		}
	}
	from, err := e.eval(n.b)
	if err != nil {
		return old, now, err
	}
	if n.by != "" {
		old = e.prog.Load(to)
		if from, err = e.ops.binary(n.by, old, from); err != nil {
			return old, now, err
		}
	}
	if convenience {
		if now = e.prog.Load(from); now.place == inMemory && now.Type.Strip().Kind == Array && !e.rust() { // as in gdb: a pointer to its elements
			now = Number(now.Type.Strip().Row().PointerTo(), uint64(now.addr))
		}
		if !e.typesOnly && !e.checking {
			e.w.setVar(n.a.text, now)
		}
		return old, now, nil
	}
	to = e.prog.unref(to)
	if to.err != nil {
		return old, now, fmt.Errorf("the value cannot be changed: %w", to.err)
	}
	b, err := e.ops.converted(from, to)
	if err != nil {
		return old, now, err
	}
	now, err = e.w.store(to, b)
	return old, now, err
}

// dollar is a register, an entry of the history, or a convenience variable.
func (e *evaluator) dollar(name string) (Value, error) {
	h := e.w.History
	if name == "" || strings.Trim(name, "$") == "" { // $ and $$
		return e.w.history(len(h)-len(name), "$"+name)
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(name, "$")); err == nil {
		if name[0] == '$' {
			return e.w.history(len(h)-n, "$"+name)
		}
		return e.w.history(n, "$"+name)
	}
	if v, ok := e.w.convenience(name); ok {
		return v, nil
	}
	v, err := registers{e.prog, e.f}.register(name)
	if errors.Is(err, errNoRegister) {
		return e.prog.void(), nil
	}
	return v, err
}

// isConvenience reports whether a name behind $ can be assigned to without changing the
// program: it is neither a register nor an entry of the history.
func (e *evaluator) isConvenience(name string) bool {
	if name == "" || name[0] <= '9' {
		return false
	}
	_, err := registers{e.prog, e.f}.register(name)
	return errors.Is(err, errNoRegister)
}

// name finds the entity that a name means: a local variable, a member of this, a static
// variable or a function.
func (e *evaluator) name(name string) (Value, error) {
	global := strings.HasPrefix(name, "::")
	name = strings.TrimPrefix(name, "::")
	if !global && e.f != nil {
		if v, ok := e.local(name); ok {
			e.use(name)
			return v, nil
		}
		if v, ok := e.ofCython(name); ok {
			return v, nil
		}
		if this, ok := e.this(); ok && name != "this" {
			if v, err := e.prog.memberNamed(this, name); err == nil {
				e.use("this")
				return v, nil
			}
		}
	}
	switch name {
	case "true", "false":
		if e.f.language() != "c" {
			return e.truth(name == "true"), nil
		}
	case "nullptr":
		if e.cplusplus() {
			return e.null(), nil
		}
	}
	if v, ok, err := e.nonLocal(name, global); ok || err != nil {
		return v, err
	}
	if i := strings.LastIndex(name, "::"); i > 0 {
		if v, ok := e.variableOf(name[:i], name[i+2:]); ok {
			return v, nil
		}
	}
	if v, ok := e.symbol(name, false); ok {
		return v, nil
	}
	if full := e.f.unaliased(name); full != name && !global {
		return e.name("::" + full)
	}
	if e.bare {
		if v, ok := e.w.word(name); ok {
			return v, nil
		}
	}
	return Value{}, &NoSymbolError{name}
}
