package values

import (
	"fmt"
	"slices"
	"strings"

	"hdb/symbols/dwarf"
)

// An option is one of several functions that a call may mean.
type option struct {
	params []*Type // without that of the object
	open   bool
	name   string // for errors
	object rank
}

// A rank tells how well an argument fits a parameter, as C++ ranks conversions
// ([over.ics.rank]).
type rank uint8

const (
	exact rank = iota
	qualified
	promoted
	toBase // of a class, or a pointer to one
	converted
	toVoid     // a pointer
	toBool     // of a pointer
	lastResort // an address typed as a number; to a parameter that is ...
	impossible = rank(255)
)

// choose is the option that fits the arguments best.
func (e *evaluator) choose(name string, options []option, args []Value) (int, error) {
	ranks := make([][]rank, len(options))
	var fit []int
	for i, o := range options {
		if r, ok := e.rank(o, args); ok {
			ranks[i] = r
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		return 0, fmt.Errorf("no %s takes %s: there are %s", shortName(name), typesOf(args), optionNames(options, nil))
	}
	for _, i := range fit {
		if !slices.ContainsFunc(fit, func(j int) bool { return i != j && !better(ranks[i], ranks[j]) }) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%s(%s) is ambiguous: cast the arguments to choose among %s", shortName(name), strings.TrimPrefix(typesOf(args), "no arguments"), optionNames(options, fit))
}

// shortName is the name of a function without its class and template arguments.
func shortName(name string) string {
	if strings.HasPrefix(name, "operator") {
		return name
	}
	return lastName(cutTemplate(name))
}

// typesOf are the types of arguments in words.
func typesOf(args []Value) string {
	var list []string
	for _, a := range args {
		list = append(list, a.Type.String())
	}
	if len(list) == 0 {
		return "no arguments"
	}
	return strings.Join(list, ", ")
}

// maxOptions bounds the functions that an error names.
const maxOptions = 8

// optionNames are the options in words, those with the numbers in only, or all if it is nil.
func optionNames(options []option, only []int) string {
	var list []string
	for i, o := range options {
		if only == nil || slices.Contains(only, i) {
			list = append(list, o.name)
		}
	}
	if more := len(list) - maxOptions; more > 0 {
		list = append(list[:maxOptions], fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, ", ")
}

// better reports whether no argument fits worse, and one fits better.
func better(a, b []rank) bool {
	some := false
	for i := range a {
		if a[i] > b[i] {
			return false
		}
		some = some || a[i] < b[i]
	}
	return some
}

// rank ranks the object and the arguments. It reports false if the option cannot be called
// with them.
func (e *evaluator) rank(o option, args []Value) ([]rank, bool) {
	if len(args) < len(o.params) || len(args) > len(o.params) && !o.open || o.object == impossible {
		return nil, false
	}
	out := []rank{o.object}
	for i, a := range args {
		r := lastResort
		if i < len(o.params) {
			r = e.rankOf(a, o.params[i])
		}
		if r == impossible {
			return nil, false
		}
		out = append(out, r)
	}
	return out, true
}

// rankOf ranks an argument for a parameter.
func (e *evaluator) rankOf(v Value, param *Type) rank {
	to := param.Strip()
	v = e.prog.unref(v)
	from := v.Type.Strip()
	least := exact
	if to.Kind == Reference || to.Kind == RvalueReference {
		_, lvalue := v.Addr()
		target := to.Elem()
		switch {
		case to.Kind == RvalueReference && lvalue, to.Kind == Reference && !target.isConst() && (!lvalue || v.Type.isConst()):
			return impossible
		case to.Kind == Reference && target.isConst() && !(lvalue && v.Type.isConst()): // what is no lvalue rather binds to &&
			least = qualified
		}
		if to.Kind == Reference && !target.isConst() && !sameTypes(from, target.Strip()) && target.Strip().Kind != Struct {
			return impossible
		}
		to = target.Strip()
	}
	return max(least, e.conversion(from, to))
}

// conversion ranks the conversion of a value.
func (e *evaluator) conversion(from, to *Type) rank {
	if sameTypes(from, to) {
		return exact
	}
	switch to.Kind {
	case Struct:
		if _, ok := basePath(from, to.Name, 0); ok && from.Kind == Struct {
			return toBase
		}
		return impossible
	case Pointer:
		return pointerRank(from, to)
	}
	number := from.isInteger() || from.isFloat()
	boolean := to.Kind == Base && to.Enc == encBoolean
	switch {
	case boolean && (from.Kind == Pointer || from.Kind == Array || from.Kind == Function):
		return toBool
	case !number || !to.isInteger() && !to.isFloat() || to.Kind == Enum:
		return impossible
	case from.isInteger() && to.Name == "int" && (from.Size() < 4 || from.Kind == Enum):
		return promoted
	case from.isFloat() && from.Size() == 4 && to.Name == "double":
		return promoted
	}
	return converted
}

// pointerRank ranks the conversion of a value to a pointer.
func pointerRank(from, to *Type) rank {
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
		return converted
	default:
		if from.isInteger() && from.Size() == 8 { // addresses are typed as numbers
			return lastResort
		}
		return impossible
	}
	if source.isConst() && !target.isConst() && source.Strip().Kind != Function && from.Kind == Pointer {
		return impossible
	}
	switch a, b := source.Strip(), target.Strip(); {
	case sameTypes(a, b):
		if target.isConst() && !source.isConst() {
			return qualified
		}
		return exact
	case b.Kind == Void:
		return toVoid
	case a.Kind == Struct && b.Kind == Struct:
		if _, ok := basePath(a, b.Name, 0); ok {
			return toBase
		}
	}
	return impossible
}

// sameTypes reports whether two stripped types are the same, maybe as two units describe
// it.
func sameTypes(a, b *Type) bool {
	if a == b {
		return true
	}
	if a.Kind != b.Kind || a.Size() != b.Size() {
		return false
	}
	switch a.Kind {
	case Struct, Enum:
		return a.Name != "" && a.Name == b.Name && tagClass(a.Tag) == tagClass(b.Tag)
	case Base:
		return a.Enc == b.Enc && a.Name == b.Name
	}
	return a.String() == b.String()
}

// overloaded is the function that a call by a name means: fn, which the name means
// without a call, or another one of the same name in C++ whose parameters fit the arguments
// better.
func (e *evaluator) overloaded(name string, fn Value, args []Value) (Value, error) {
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

// namesakes are the functions of C++ with a name, those of the innermost scope that has
// some.
func (l lookup) namesakes(name string) (out []Value) {
	prefixes := []string{""}
	if !strings.HasPrefix(name, "::") {
		prefixes = l.f.prefixes()
	}
	name = strings.TrimPrefix(name, "::")
	for _, p := range prefixes {
		for _, m := range l.prog.modules(l.f) {
			exact, _ := m.functions(name, []string{p})
			for _, d := range exact {
				if v := l.entityValue(m, d); isCPlusPlus(v.Type.Strip().lang) && d.Tag() == dwarf.TagSubprogram {
					out = append(out, v)
				}
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}
