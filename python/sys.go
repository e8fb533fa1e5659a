package python

import (
	"errors"
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/python/inspect"
	"hdb/python/layout"
)

// A Sys has the variables of the module sys of one interpreter.
type Sys struct {
	in   *Interpreter
	dict addr.Run
}

// SysOf finds sys of the interpreter whose PyInterpreterState is at an address.
func SysOf(in *Interpreter, state addr.Run) (Sys, error) {
	in = in.bounded()
	dict, err := in.mem.Field(state, in.layout.Interpreter.Sys)
	if err != nil {
		return Sys{}, fmt.Errorf("sys: %w", err)
	}
	if dict == 0 {
		return Sys{}, errors.New("sys: the interpreter has not been started, or has ended")
	}
	return Sys{in, dict}, nil
}

// Has reports whether there is a variable.
func (s Sys) Has(name string) bool {
	at, err := s.in.mem.Lookup(s.dict, name)
	return err == nil && at != 0
}

// Text is a variable that is a str, "" without one.
func (s Sys) Text(name string) string {
	at, err := s.in.mem.Lookup(s.dict, name)
	if err != nil || at == 0 {
		return ""
	}
	c, err := s.in.mem.ClassOf(at)
	if err != nil || c.Flags&layout.IsText == 0 {
		return ""
	}
	text, _ := s.in.mem.Text(at) // what cannot be read is no text
	return text
}

// Texts are the str objects of a variable that is a list of them, at most maxPath.
func (s Sys) Texts(name string) ([]string, error) {
	list, err := s.in.mem.Lookup(s.dict, name)
	if err != nil || list == 0 {
		return nil, err
	}
	c, err := s.in.mem.ClassOf(list)
	if err != nil || c.Flags&layout.IsList == 0 {
		return nil, err
	}
	items, err := s.in.mem.Elements(list, maxPath)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, at := range items {
		if s, err := s.in.mem.Text(at); err == nil {
			all = append(all, s)
		}
	}
	return all, nil
}

// A Flag is a field of sys.flags, with its value as in repr().
type Flag struct{ Name, Value string }

// maxFlags bounds sys.flags.
const maxFlags = 64

// Flags are the fields of sys.flags, whose names its class has (PyStructSequence).
func (s Sys) Flags() (all []Flag, err error) {
	at, err := s.in.mem.Lookup(s.dict, "flags")
	if err != nil || at == 0 {
		return nil, err
	}
	c, err := s.in.mem.ClassOf(at)
	if err != nil || !strings.HasSuffix(c.Name, "flags") {
		return nil, err
	}
	fields, err := c.Fields(at, maxFlags)
	for _, f := range fields {
		all = append(all, Flag{f.Name, s.in.mem.Repr(f.At, inspect.DefaultLimits)})
	}
	return all, err
}
