package python

import (
	"fmt"

	"hdb/internal/addr"
)

// Names finds the object of a name where no function of Python runs; 0 without.
type Names func(name string) (addr.Run, error)

// EvalNames is Interpreter.Eval with names that are found otherwise than in a frame.
func EvalNames(in *Interpreter, find Names, expr string) (Value, error) {
	return in.eval(evaluator{in: in.bounded(maxSearch), rest: expr, names: find})
}

// found is the object of a name.
func (e *evaluator) found(name string) (Value, error) {
	if e.names == nil {
		return e.in.name(e.frame, name)
	}
	at, err := e.names(name)
	if err == nil && at == 0 {
		err = fmt.Errorf("no name %s", name)
	}
	return Value{At: at}, err
}

// Items are the names in a dict, of an object's or a module's attributes say, with their objects.
func Items(in *Interpreter, dict addr.Run) ([]Variable, error) {
	in = in.Bounded()
	items, _, err := in.items(dict, maxLocals)
	return in.named(items), err
}

// Item is the object of a name in such a dict, 0 without.
func Item(in *Interpreter, dict addr.Run, name string) (addr.Run, error) {
	return in.Bounded().lookup(dict, name)
}

// ModuleDict is the dict of a module object (PyModuleObject.md_dict).
func ModuleDict(in *Interpreter, module addr.Run) (addr.Run, error) {
	return in.mem.field(module, in.layout.Module.Dict)
}
