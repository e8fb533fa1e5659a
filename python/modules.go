package python

import (
	"fmt"

	"hdb/internal/addr"
)

// maxPath bounds the entries of sys.path that are read.
const maxPath = 256

// Path is sys.path of the interpreter that a thread is in: the directories and archives
// where modules come from.
func (in *Interpreter) Path(s State) ([]string, error) {
	in = in.bounded(maxSearch)
	sys, err := in.mem.pointer(s.interpreter + addr.Run(in.layout.sysDict))
	if err != nil {
		return nil, fmt.Errorf("sys: %w", err)
	}
	list, err := in.lookup(sys, "path")
	if err != nil || list == 0 {
		return nil, err
	}
	c, err := in.class(list)
	if err != nil || c.flags&isList == 0 {
		return nil, err
	}
	n, err := in.length(Value{At: list})
	if err != nil {
		return nil, err
	}
	items, err := in.itemsAt(list, c)
	if err != nil {
		return nil, err
	}
	b, err := in.mem.read(items, 8*int(min(n, maxPath)))
	if err != nil {
		return nil, err
	}
	var all []string
	for i := 0; i < len(b); i += 8 {
		if s, err := in.Text(pointerIn(b, i)); err == nil {
			all = append(all, s)
		}
	}
	return all, nil
}

// module is a module that was imported, 0 if it was not.
func (in *Interpreter) module(s State, name string) (addr.Run, error) {
	all, err := in.mem.pointer(s.interpreter + addr.Run(in.layout.modules))
	if err != nil || all == 0 {
		return 0, err
	}
	return in.lookup(all, name)
}
