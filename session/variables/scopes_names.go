package variables

import (
	"hdb/values"
)

// Variables are the names of the variables of the selected frame, its parameters included.
// There are none without a frame, and none of Go code.
func (s *Scopes) Variables() []string {
	var all []string
	_ = s.values.Guarded(func(f *values.Frame) error { // what cannot be read has no names
		if f == nil {
			return nil
		}
		for _, list := range []func(*values.Frame) ([]values.Variable, error){s.values.World.Locals, s.values.World.Args} {
			vars, err := list(f)
			if err != nil {
				return err
			}
			for _, x := range vars {
				all = append(all, x.Name)
			}
		}
		return nil
	})
	return all
}

// Members are the names of the members of what an expression is, or points to: those of
// bases and of members without a name included.
func (s *Scopes) Members(expr string) []string {
	var all []string
	_ = s.values.Guarded(func(f *values.Frame) error { // what cannot be read has no members
		t, _, err := s.values.World.EvalType(f, expr)
		if err != nil {
			return err
		}
		for t = t.Strip(); t.Kind == values.Pointer || t.Kind == values.Reference || t.Kind == values.RvalueReference; {
			t = t.Elem().Strip()
		}
		all = memberNames(t, 0)
		return nil
	})
	return all
}

// memberNames are those of a type, to a depth that no sane one has.
func memberNames(t *values.Type, depth int) []string {
	var all []string
	if t.Kind != values.Struct || depth > 16 {
		return nil
	}
	for _, f := range t.Fields() {
		if f.Base || f.Name == "" {
			all = append(all, memberNames(f.Type.Strip(), depth+1)...)
		} else {
			all = append(all, f.Name)
		}
	}
	return all
}
