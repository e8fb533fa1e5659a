package variables

import (
	"fmt"
	"slices"

	"hdb/breakpoints"
	"hdb/internal/addr"
	"hdb/session/target"
	"hdb/session/view"
	"hdb/symbols"
	"hdb/values"
)

// Scopes tells which variables code can name.
type Scopes struct {
	target *target.Target
	loc    *view.Locations
	values *Values
}

// NewScopes looks for variables at places of the code.
func NewScopes(t *target.Target, loc *view.Locations, v *Values) *Scopes { return &Scopes{t, loc, v} }

// A Scope is the variables that can be named at a place in the code.
type Scope struct {
	Place     breakpoints.Place
	Variables []ScopeVariable
}

// A ScopeVariable is a parameter or local variable of a function.
type ScopeVariable struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Argument bool   `json:"argument,omitempty"`
	Depth    int    `json:"depth,omitempty"` // blocks around it: 0 in the innermost
}

// At is the scopes of the places of a location: no process is needed.
func (s *Scopes) At(location string) ([]Scope, error) {
	if s.target.Mode() == target.Saved {
		return nil, ErrCaptureValues
	}
	places, err := s.loc.Places(location)
	if err != nil {
		return nil, err
	}
	if len(places) == 0 {
		return nil, fmt.Errorf("no place %q in the code", location)
	}
	var out []Scope
	for _, p := range places {
		sc := Scope{Place: p}
		f := FrameOfPlace(s.target, p)
		if f == nil {
			return nil, fmt.Errorf("no symbols at %s", view.PlaceText(p))
		}
		fault := symbols.Guard(func() {
			var args, locals []values.Variable
			if locals, err = s.values.World.Locals(f); err != nil {
				return
			}
			if args, err = s.values.World.Args(f); err != nil {
				return
			}
			for _, v := range locals {
				sc.Variables = append(sc.Variables, ScopeVariable{v.Name, v.Value.Type.String(), false, v.Depth})
			}
			for _, v := range args {
				sc.Variables = append(sc.Variables, ScopeVariable{v.Name, v.Value.Type.String(), true, v.Depth})
			}
		})
		if fault != nil {
			return nil, fault
		}
		if err != nil {
			return nil, err
		}
		out = append(out, sc)
	}
	return out, nil
}

// FrameOfPlace is a frame of which only the place is known, nil where there is no file.
func FrameOfPlace(c *target.Target, p breakpoints.Place) *values.Frame {
	for _, m := range c.Names.Images() {
		if !c.Names.Covers(m, p.Addr) {
			continue
		}
		stack := m.Object.Lookup(p.Addr.File(m.Bias))
		inlined := max(0, slices.IndexFunc(stack, func(f symbols.Frame) bool { return f.Function == p.Function }))
		return &values.Frame{Module: values.Module{Obj: m.Object, Bias: m.Bias}, PC: addr.PC(p.Addr), Inlined: inlined}
	}
	return nil
}
