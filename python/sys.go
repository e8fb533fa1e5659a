package python

import (
	"errors"
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// A Sys has the variables of the module sys of one interpreter.
type Sys struct {
	in   *Interpreter
	dict addr.Run
}

// SysOf finds sys of the interpreter whose PyInterpreterState is at an address.
func SysOf(in *Interpreter, state addr.Run) (Sys, error) {
	in = in.bounded(maxSearch)
	dict, err := in.mem.field(state, in.layout.Interpreter.Sys)
	if err != nil {
		return Sys{}, fmt.Errorf("sys: %w", err)
	}
	if dict == 0 {
		return Sys{}, errors.New("sys: the interpreter has not been started, or has ended")
	}
	return Sys{in, dict}, nil
}

// Has tells whether there is a variable.
func (s Sys) Has(name string) bool {
	at, err := s.in.lookup(s.dict, name)
	return err == nil && at != 0
}

// Text is a variable that is a str, "" without one.
func (s Sys) Text(name string) string {
	at, err := s.in.lookup(s.dict, name)
	if err != nil || at == 0 {
		return ""
	}
	c, err := s.in.class(at)
	if err != nil || c.Flags&layout.IsText == 0 {
		return ""
	}
	text, _ := s.in.Text(at) // what cannot be read is no text
	return text
}

// Texts are the str objects of a variable that is a list of them, at most maxPath.
func (s Sys) Texts(name string) ([]string, error) {
	list, err := s.in.lookup(s.dict, name)
	if err != nil || list == 0 {
		return nil, err
	}
	c, err := s.in.class(list)
	if err != nil || c.Flags&layout.IsList == 0 {
		return nil, err
	}
	n, err := s.in.length(Value{At: list})
	if err != nil {
		return nil, err
	}
	items, err := s.in.itemsAt(list, c)
	if err != nil {
		return nil, err
	}
	b, err := s.in.mem.read(items, 8*int(min(n, maxPath)))
	if err != nil {
		return nil, err
	}
	var all []string
	for i := 0; i < len(b); i += 8 {
		if s, err := s.in.Text(pointerIn(b, i)); err == nil {
			all = append(all, s)
		}
	}
	return all, nil
}

// A Flag is a field of sys.flags, with its value as repr() has it.
type Flag struct{ Name, Value string }

// maxFlags bounds sys.flags.
const maxFlags = 64

// Flags are the fields of sys.flags, whose names its class has (PyStructSequence).
func (s Sys) Flags() (all []Flag, err error) {
	at, err := s.in.lookup(s.dict, "flags")
	if err != nil || at == 0 {
		return nil, err
	}
	c, err := s.in.class(at)
	if err != nil || !strings.HasSuffix(c.name, "flags") {
		return nil, err
	}
	err = s.in.typeMembers(c.at, func(name string, _ int, offset addr.Run) bool {
		value, err := s.in.mem.pointer(at + offset)
		if err == nil && value != 0 {
			all = append(all, Flag{name, s.in.Repr(value, DefaultLimits)})
		}
		return len(all) < maxFlags
	})
	return all, err
}
