package names

import (
	"fmt"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/symbols"
)

// GoType is the type of a block that code at an address was allocated for by a Go runtime, at the
// time of event seq: what a capture kept, or what the module's file says, if it is here and the
// one that ran. Where that is missing, UnknownGoTypes tells.
func (r *Resolver) GoType(c addr.Code, seq uint64, of capture.GoAux) (capture.GoType, bool) {
	t, ok, err := r.goType(c, seq, of)
	if err != nil {
		r.noGoTypes = err
	}
	return t, ok
}

// GoDescriptor is where the process has the descriptor of the type that code at an address allocated a
// block for, at the time of event seq; 0: it is not known.
func (r *Resolver) GoDescriptor(c addr.Code, seq uint64, of capture.GoAux) addr.Run {
	i := r.Log.module(c.Lookup(), seq)
	if i < 0 {
		return 0
	}
	return addr.Run(of.Type(uint64(r.Log.all[i].Low)))
}

// UnknownGoTypes is why types of Go were not known that the command has asked for: what is wrong
// with the file that has their names; nil: they were known.
func (r *Resolver) UnknownGoTypes() error { return r.noGoTypes }

// goType is GoType, with an error if there is no file.
func (r *Resolver) goType(c addr.Code, seq uint64, of capture.GoAux) (t capture.GoType, ok bool, err error) {
	if of.Word() == 0 {
		return t, false, nil
	}
	if r.opened != nil {
		return r.opened.goType(c, seq, of)
	}
	i := r.Log.module(c.Lookup(), seq)
	if i < 0 {
		return t, false, nil
	}
	m := &r.Log.all[i]
	if m.obj == nil {
		return t, false, fmt.Errorf("%s: the file could not be read", m.Path)
	}
	t, ok = goTypeIn(m.obj, m.Module, of)
	return t, ok, nil
}

// goType is Resolver.goType for a capture.
func (o *opened) goType(c addr.Code, seq uint64, of capture.GoAux) (t capture.GoType, ok bool, err error) {
	kept, ok := o.Capture.GoType(c, seq, of)
	if ok && !o.again {
		return kept, true, nil
	}
	i := moduleIndex(o.Modules(), c.Lookup(), seq)
	if i < 0 {
		return kept, ok, nil
	}
	m := o.file(i)
	if m.obj == nil {
		if !ok {
			err = m.err
		}
		return kept, ok, err
	}
	if t, found := goTypeIn(m.obj, o.Modules()[i], of); found {
		return t, true, nil
	}
	return kept, ok, nil
}

// goTypeIn is a type as the file of a module tells it.
func goTypeIn(obj *symbols.Object, m capture.Module, of capture.GoAux) (capture.GoType, bool) {
	return GoTypes(obj, m.Bias)(addr.Run(of.Type(uint64(m.Low))))
}

// GoTypes tells the types of Go that a file has which is mapped with that bias.
func GoTypes(obj *symbols.Object, bias addr.Bias) capture.GoTypes {
	return func(descriptor addr.Run) (t capture.GoType, ok bool) {
		_ = symbols.Guard(func() { // a file that is cut meanwhile tells nothing
			t.Name, t.Size, ok = obj.GoType(descriptor.File(bias))
		})
		return t, ok && t.Name != ""
	}
}
