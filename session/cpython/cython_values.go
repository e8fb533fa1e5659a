package cpython

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"hdb/internal/addr"
	"hdb/internal/lazyregexp"
	"hdb/names"
	"hdb/python"
	"hdb/python/cython"
	"hdb/python/eval"
	"hdb/python/inspect"
	"hdb/session/variables"
	"hdb/symbols/dwarf"
	"hdb/values"
)

// CythonOptions say how values are written: those of C, and objects.
type CythonOptions struct {
	C      values.Options
	Object inspect.Limits
}

// A CythonVariable is a variable of Cython's source.
type CythonVariable struct {
	variables.NamedValue
	Early bool // it is of C, and the line of its declaration is not behind: it may have no value yet
}

// A cythonName is a name with the expression of C that has its value.
type cythonName struct{ name, c string }

// ErrNotCython is the error of commands that need a function of Cython.
var ErrNotCython = errors.New("the selected frame is not a Cython function: cy bt shows those")

// Selected is the selected frame, if it is one of a source of Cython.
func (y *Cython) Selected() (names.Frame, error) {
	if err := y.target.Readable(); err != nil {
		return names.Frame{}, err
	}
	f, err := y.sel.Frame()
	switch {
	case err != nil:
		return f, err
	case !IsCythonFrame(&f):
		return f, ErrNotCython
	}
	return f, nil
}

// IsCythonFrame tells a function of a source of Cython, also where only its name in C tells.
func IsCythonFrame(f *names.Frame) bool {
	s, ok := cython.Parse(f.Linkage)
	return f.Language == dwarf.LangCython || ok && s.Kind != cython.Machinery
}

// Locals are the variables of the selected function, its arguments first, then those that it
// shares with functions inside or around it.
func (y *Cython) Locals(o CythonOptions) (f names.Frame, all []CythonVariable, err error) {
	if f, err = y.Selected(); err != nil {
		return f, nil, err
	}
	err = y.values.Guarded(func(vf *values.Frame) error {
		list, err := y.localNames(vf)
		d := y.target.Names.Cython.Described(vf.Module.Obj, f.Linkage)
		for _, n := range list {
			v := CythonVariable{NamedValue: y.show(vf, n.name, n.c, o)}
			if d != nil && !slices.Contains(d.Arguments, n.name) {
				v.Early = slices.ContainsFunc(d.Locals, func(l cython.Variable) bool { return l.Name == n.name && !l.Object && l.Line >= f.Line })
			}
			all = append(all, v)
		}
		return err
	})
	return f, all, err
}

// localNames are the variables of a function of C that are of the source.
func (y *Cython) localNames(vf *values.Frame) (all []cythonName, err error) {
	seen := map[string]bool{}
	add := func(field, c string) {
		if name, ok := cython.VariableOf(field); ok && !seen[name] {
			seen[name] = true
			all = append(all, cythonName{name, c})
		}
	}
	args, err := y.values.World.Args(vf)
	if err != nil {
		return nil, err
	}
	locals, err := y.values.World.Locals(vf)
	for _, v := range append(args, locals...) {
		add(v.Name, v.Name)
	}
	for _, v := range append(args, locals...) {
		if v.Name != "__pyx_cur_scope" && v.Name != "__pyx_outer_scope" {
			continue
		}
		const around = 8 // functions
		for c, n := v.Name, 0; c != "" && n < around; n++ {
			outer := ""
			for _, field := range y.fields(vf, c) {
				add(field.Name, c+"->"+field.Name)
				if field.Name == "__pyx_outer_scope" {
					outer = c + "->" + field.Name
				}
			}
			c = outer
		}
	}
	return all, err
}

// fields are the members of the struct that a pointer points to.
func (y *Cython) fields(vf *values.Frame, c string) []values.Field {
	t, _, err := y.values.World.EvalType(vf, "*("+c+")")
	if err != nil || t.Strip().Kind != values.Struct {
		return nil
	}
	return t.Strip().Fields()
}

// IsObject tells the types of pointers to objects of Python.
func IsObject(t *values.Type) bool {
	if t = t.Strip(); t.Kind != values.Pointer {
		return false
	}
	name := t.Elem().Strip().Name
	return name == "_object" || strings.HasPrefix(name, "__pyx_obj_")
}

// show is the value of an expression of C under a name of the source.
func (y *Cython) show(vf *values.Frame, name, c string, o CythonOptions) variables.NamedValue {
	w := y.values.World
	v, err := w.Eval(vf, c)
	if err != nil {
		return variables.NamedValue{Name: name, Value: "<" + err.Error() + ">"}
	}
	n := variables.NamedValue{Name: name, Type: v.Type.String()}
	if !IsObject(v.Type) {
		n.Value = w.Format(vf, v, o.C)
		return n
	}
	n.Value, err = y.object(vf, c, o)
	if err != nil {
		n.Value = "<" + err.Error() + ">"
		if text := w.Format(vf, v, o.C); strings.HasPrefix(text, "<") { // optimized out
			n.Value = text
		}
	}
	return n
}

// object is the text of an object that an expression of C points to, with the attributes of C
// that its class has.
func (y *Cython) object(vf *values.Frame, c string, o CythonOptions) (string, error) {
	at, err := y.values.World.Integer(vf, c)
	if err != nil {
		return "", err
	}
	if at == 0 {
		return "<no value>", nil
	}
	text := fmt.Sprintf("<object at %#x>", at)
	if in, err := y.Interpreter(); err == nil {
		text = in.Objects().Repr(addr.Run(at), o.Object)
	}
	attributes := y.attributes(vf, c)
	if len(attributes) == 0 || o.Object.Depth <= 0 {
		return text, nil
	}
	o.Object.Depth--
	o.C.Pretty = false
	var list []string
	for _, a := range attributes {
		list = append(list, a.name+" = "+y.show(vf, a.name, a.c, o).Value)
	}
	return text + " {" + strings.Join(list, ", ") + "}", nil
}

// attributes are those of C that the class has which an expression of C points to.
func (y *Cython) attributes(vf *values.Frame, c string) (all []cythonName) {
	t, _, err := y.values.World.EvalType(vf, c)
	if err != nil || !IsObject(t) || t.Strip().Elem().Strip().Name == "_object" {
		return nil
	}
	const bases = 16
	var base func(c string, access string, depth int)
	base = func(c, access string, depth int) {
		for _, f := range y.fields(vf, "&*("+c+")") {
			switch f.Name {
			case "ob_base", "ob_refcnt", "ob_type", "__pyx_vtab", "__weakref__", "__dict__":
			case "__pyx_base":
				if depth < bases {
					base("&"+c+access+f.Name, "->", depth+1)
				}
			default:
				all = append(all, cythonName{f.Name, "(" + c + ")" + access + f.Name})
			}
		}
	}
	base(c, "->", 0)
	return all
}

// Interpreter is what reads objects of the process.
func (y *Cython) Interpreter() (*python.Interpreter, error) {
	all, _, err := y.python.Interpreters()
	if err != nil {
		return nil, err
	}
	return all[0].In, nil
}

var (
	leading = lazyregexp.New(`^[\pL_][\pL\pN_]*`)
	member  = lazyregexp.New(`^\s*\.\s*([\pL_][\pL\pN_]*)`)
	word    = lazyregexp.New(`(->\s*|\.\s*)?[\pL_][\pL\pN_]*`)
)

// Print is the value of an expression in the selected function: names of its variables and of
// its module, attributes, elements by constants and len() of objects as py print takes them,
// otherwise an expression of C with names of the source.
func (y *Cython) Print(expr string, o CythonOptions) (n variables.NamedValue, err error) {
	if _, err = y.Selected(); err != nil {
		return n, err
	}
	err = y.values.Guarded(func(vf *values.Frame) error {
		n, err = y.print(vf, strings.TrimSpace(expr), o)
		n.Name = expr
		return err
	})
	return n, err
}

func (y *Cython) print(vf *values.Frame, expr string, o CythonOptions) (variables.NamedValue, error) {
	locals, err := y.localNames(vf)
	if err != nil {
		return variables.NamedValue{}, err
	}
	find := func(name string) (string, bool) { return y.variable(vf, locals, name) }
	name := leading().FindString(expr)
	c, isC := find(name)
	rest := expr[len(name):]
	for isC {
		m := member().FindStringSubmatch(rest)
		if m == nil {
			break
		}
		i := slices.IndexFunc(y.attributes(vf, c), func(a cythonName) bool { return a.name == m[1] })
		if i < 0 {
			break
		}
		c, rest = y.attributes(vf, c)[i].c, rest[len(m[0]):]
	}
	if isC && strings.TrimSpace(rest) == "" {
		n := y.show(vf, expr, c, o)
		return n, nil
	}
	t, _, typed := y.values.World.EvalType(vf, c)
	if objects := name == "len" || !isC || typed == nil && IsObject(t); objects && name != "" {
		n, err := y.printObject(vf, expr, name, c, rest, o)
		if err == nil || isC && typed == nil && IsObject(t) {
			return n, err
		}
	}
	inC := word().ReplaceAllStringFunc(expr, func(w string) string {
		if c, ok := find(w); ok {
			return "(" + c + ")"
		}
		return w
	})
	v, err := y.values.World.Eval(vf, inC)
	if err != nil {
		return variables.NamedValue{}, fmt.Errorf("%w (in C: %s)", err, inC)
	}
	return variables.NamedValue{Type: v.Type.String(), Value: y.values.World.Format(vf, v, o.C)}, nil
}

// printObject is the value of an expression of Python, in which c, if it is not empty, is what
// the first name and the attributes of C behind it are in C; rest follows.
func (y *Cython) printObject(vf *values.Frame, expr, name, c, rest string, o CythonOptions) (variables.NamedValue, error) {
	in, err := y.Interpreter()
	if err != nil {
		return variables.NamedValue{}, err
	}
	locals, err := y.localNames(vf)
	if err != nil {
		return variables.NamedValue{}, err
	}
	if c != "" {
		expr = name + rest
	}
	v, err := eval.Expression(in.Objects(), func(_ *inspect.Reader, asked string) (addr.Run, error) {
		if c != "" && asked == name {
			at, err := y.values.World.Integer(vf, c)
			return addr.Run(at), err
		}
		if c, ok := y.variable(vf, locals, asked); ok {
			t, _, err := y.values.World.EvalType(vf, c)
			if err != nil || !IsObject(t) {
				return 0, errors.Join(err, fmt.Errorf("%s is a C variable, not a Python object", asked))
			}
			at, err := y.values.World.Integer(vf, c)
			return addr.Run(at), err
		}
		return y.global(vf, in, asked)
	}, expr)
	if err != nil {
		return variables.NamedValue{}, err
	}
	return variables.NamedValue{Type: "object", Value: in.Objects().Show(v, o.Object)}, nil
}

// variable is the expression of C of a variable: of the function, or of C in its module.
func (y *Cython) variable(vf *values.Frame, locals []cythonName, name string) (c string, ok bool) {
	if i := slices.IndexFunc(locals, func(n cythonName) bool { return n.name == name }); i >= 0 {
		return locals[i].c, true
	}
	for _, g := range y.moduleNames(vf) {
		if g.name == name {
			return g.c, true
		}
	}
	return "", false
}

var globalPrefix = lazyregexp.New(`^__pyx_v_[0-9]`)

// moduleNames are the variables of C of the module that a frame is of.
func (y *Cython) moduleNames(vf *values.Frame) (all []cythonName) {
	if vf == nil || vf.Module.Obj == nil {
		return nil
	}
	f, err := y.sel.Frame()
	if err != nil {
		return nil
	}
	for _, g := range vf.Module.Obj.MatchVariables(globalPrefix(), func() bool { return false }) {
		module, name, ok := cython.Global(g.Name)
		if ok && strings.HasPrefix(f.Function, module+".") {
			all = append(all, cythonName{name, g.Name})
		}
	}
	return all
}

// global is an object of the module that a frame is of, or a built-in one; 0 without.
func (y *Cython) global(vf *values.Frame, in *python.Interpreter, name string) (addr.Run, error) {
	dict, err := y.moduleDict(vf)
	if err != nil {
		return 0, err
	}
	objects := in.Objects()
	if at, err := objects.Bounded(inspect.MaxSearch).Lookup(dict, name); err != nil || at != 0 {
		return at, err
	}
	module, err := y.static(vf, "__pyx_b")
	if err != nil || module == 0 {
		return 0, err
	}
	if dict, err = objects.ModuleDict(module); err != nil || dict == 0 {
		return 0, err
	}
	return objects.Bounded(inspect.MaxSearch).Lookup(dict, name)
}

// moduleDict is the dict of the module that a frame is of.
func (y *Cython) moduleDict(vf *values.Frame) (addr.Run, error) {
	at, err := y.static(vf, "__pyx_d")
	if err == nil && at == 0 {
		err = errors.New("the module is not initialized yet")
	}
	return at, err
}

// static is a pointer that Cython keeps for a module: in a variable, or from 3.0 on in a struct.
func (y *Cython) static(vf *values.Frame, name string) (addr.Run, error) {
	at, err := y.values.World.Integer(vf, name)
	if err != nil {
		if other, err := y.values.World.Integer(vf, "__pyx_mstate_global_static."+name); err == nil {
			return addr.Run(other), nil
		}
	}
	return addr.Run(at), err
}

// maxGlobals bounds the variables of a module.
const maxGlobals = 1 << 16

// Globals are the variables of the module of the selected function: objects, then those of C.
func (y *Cython) Globals(o CythonOptions) (module string, objects []Variable, own []variables.NamedValue, err error) {
	f, err := y.Selected()
	if err != nil {
		return "", nil, nil, err
	}
	module = strings.TrimSuffix(filepath.Base(f.Path), filepath.Ext(f.Path))
	err = y.values.Guarded(func(vf *values.Frame) error {
		for _, g := range y.moduleNames(vf) {
			own = append(own, y.show(vf, g.name, g.c, o))
		}
		in, err := y.Interpreter()
		if err != nil {
			return err
		}
		dict, err := y.moduleDict(vf)
		if err != nil {
			return err
		}
		items, err := in.Objects().Bounded(inspect.MaxSearch).Variables(dict, maxGlobals)
		reader := in.Objects().Bounded(inspect.MaxSearch)
		for _, v := range items {
			if v.Name == "__name__" {
				module = strings.Trim(reader.Repr(v.At, o.Object), `'"`)
			}
			objects = append(objects, Variable{Name: v.Name, Value: reader.Repr(v.At, o.Object)})
		}
		return err
	})
	return module, objects, own, err
}
