package python

import "hdb/internal/addr"

// maxPath bounds the entries of sys.path that are read.
const maxPath = 256

// Path is sys.path of the interpreter that a thread is in: the directories and archives
// where modules come from.
func (in *Interpreter) Path(s State) ([]string, error) {
	sys, err := SysOf(in, s.interpreter)
	if err != nil {
		return nil, err
	}
	return sys.Texts("path")
}

// module is a module that was imported, 0 if it was not.
func (in *Interpreter) module(s State, name string) (addr.Run, error) {
	all, err := in.mem.Field(s.interpreter, in.layout.Interpreter.Modules)
	if err != nil || all == 0 {
		return 0, err
	}
	return in.mem.Lookup(all, name)
}
