package values

import (
	"slices"
	"strings"

	"hdb/values/calls"
)

// An option is one of several functions that a call may mean.
type option struct {
	params []*Type // without the object
	open   bool
	name   string // for errors
	object calls.Rank
}

// choose is the option that fits the arguments best.
func (e *functions) choose(name string, options []option, args []Value) (int, error) {
	list := make([]calls.Candidate, len(options))
	for i, o := range options {
		list[i] = calls.Candidate{Name: o.name, Ranks: e.ranks(o, args)}
	}
	var types []string
	for _, a := range args {
		types = append(types, a.Type.String())
	}
	return calls.Choose(shortName(name), types, list)
}

// shortName is the name of a function without its class and template arguments.
func shortName(name string) string {
	if strings.HasPrefix(name, "operator") {
		return name
	}
	return lastName(cutTemplate(name))
}

// ranks ranks the object and the arguments, nil if the option cannot be called with them.
func (e *functions) ranks(o option, args []Value) []calls.Rank {
	if len(args) < len(o.params) || len(args) > len(o.params) && !o.open || o.object == calls.Impossible {
		return nil
	}
	out := []calls.Rank{o.object}
	for i, a := range args {
		r := calls.LastResort
		if i < len(o.params) {
			r = e.rankOf(a, o.params[i])
		}
		if r == calls.Impossible {
			return nil
		}
		out = append(out, r)
	}
	return out
}

// rankOf ranks an argument for a parameter.
func (e *functions) rankOf(v Value, param *Type) calls.Rank {
	to := param.Strip()
	v = e.prog.unref(v)
	from := v.Type.Strip()
	least := calls.Exact
	if to.Kind == Reference || to.Kind == RvalueReference {
		_, lvalue := v.Addr()
		target := to.Elem()
		switch {
		case to.Kind == RvalueReference && lvalue, to.Kind == Reference && !target.isConst() && (!lvalue || v.Type.isConst()):
			return calls.Impossible
		case to.Kind == Reference && target.isConst() && !(lvalue && v.Type.isConst()): // what is no lvalue rather binds to &&
			least = calls.Qualified
		}
		if to.Kind == Reference && !target.isConst() && !sameTypes(from, target.Strip()) && target.Strip().Kind != Struct {
			return calls.Impossible
		}
		to = target.Strip()
	}
	return max(least, e.conversion(from, to))
}

// conversion ranks the conversion of a value.
func (e *functions) conversion(from, to *Type) calls.Rank {
	if sameTypes(from, to) {
		return calls.Exact
	}
	switch to.Kind {
	case Struct:
		if _, ok := basePath(from, to.Name, 0); ok && from.Kind == Struct {
			return calls.ToBase
		}
		return calls.Impossible
	case Pointer:
		return pointerRank(from, to)
	}
	number := from.isInteger() || from.isFloat()
	boolean := to.Kind == Base && to.Enc == encBoolean
	switch {
	case boolean && (from.Kind == Pointer || from.Kind == Array || from.Kind == Function):
		return calls.ToBool
	case !number || !to.isInteger() && !to.isFloat() || to.Kind == Enum:
		return calls.Impossible
	case from.isInteger() && to.Name == "int" && (from.Size() < 4 || from.Kind == Enum):
		return calls.Promoted
	case from.isFloat() && from.Size() == 4 && to.Name == "double":
		return calls.Promoted
	}
	return calls.Converted
}

// pointerRank ranks the conversion of a value to a pointer.
func pointerRank(from, to *Type) calls.Rank {
	target := to.Elem()
	var source *Type
	switch from.Kind {
	case Pointer:
		source = from.Elem()
	case Array:
		source = from.Row()
	case Function:
		source = from
	case Unspecified: // nullptr
		return calls.Converted
	default:
		if from.isInteger() && from.Size() == 8 { // addresses are typed as numbers
			return calls.LastResort
		}
		return calls.Impossible
	}
	if source.isConst() && !target.isConst() && source.Strip().Kind != Function && from.Kind == Pointer {
		return calls.Impossible
	}
	switch a, b := source.Strip(), target.Strip(); {
	case sameTypes(a, b):
		if target.isConst() && !source.isConst() {
			return calls.Qualified
		}
		return calls.Exact
	case b.Kind == Void:
		return calls.ToVoid
	case a.Kind == Struct && b.Kind == Struct:
		if _, ok := basePath(a, b.Name, 0); ok {
			return calls.ToBase
		}
	}
	return calls.Impossible
}

// overloaded is the function that a call by a name means: fn, which the name means
// without a call, or another one of the same name in C++ whose parameters fit the arguments
// better.
func (e *functions) overloaded(name string, fn Value, args []Value) (Value, error) {
	t := fn.Type.Strip()
	if t.Kind != Function || !described(t) || !isCPlusPlus(t.lang) {
		return fn, nil
	}
	var options []option
	var functions []Value
	add := func(v Value) {
		t := v.Type.Strip()
		params, open := parameters(t)
		o := option{params: params, open: open, name: strings.TrimPrefix(name, "::") + signature(params, open, nil)}
		if !slices.ContainsFunc(options, func(have option) bool { return have.name == o.name }) {
			options, functions = append(options, o), append(functions, v)
		}
	}
	add(fn)
	for _, v := range e.namesakes(name) {
		add(v)
	}
	if len(options) == 1 {
		return fn, nil
	}
	i, err := e.choose(name, options, args)
	if err != nil {
		return Value{}, err
	}
	return functions[i], nil
}
