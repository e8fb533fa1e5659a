package values

import (
	"cmp"
	"fmt"
	"slices"

	"hdb/internal/addr"
)

// A VirtualTable is a virtual table of an object.
type VirtualTable struct {
	Class   string         `json:"class"`  // of the part of the object
	Table   addr.Run       `json:"table"`  // where its functions begin
	Object  addr.Run       `json:"object"` // the part of the object
	Entries []VirtualEntry `json:"entries"`
}

// A VirtualEntry is a function in a virtual table.
type VirtualEntry struct {
	Address  addr.Run `json:"address"`
	Function string   `json:"function,omitempty"` // its symbol as <NAME>, "" unknown
}

// VirtualTables are the virtual tables of the object that an expression is or points to, and
// of its base classes with tables of their own.
func (w *World) VirtualTables(f *Frame, src string) ([]VirtualTable, error) {
	e := w.evaluator(f)
	e.mayCall = true
	v, err := e.compute(src)
	if err != nil {
		return nil, err
	}
	if v, err = e.lib.object(v, false); err != nil {
		return nil, err
	}
	if v.Type.classType() == nil || !w.hasTable(v.Type.classType(), 0) {
		return nil, fmt.Errorf("a value of type %s has no virtual table", v.Type)
	}
	if err := w.Unreadable(v); err != nil {
		return nil, err
	}
	parts := map[addr.Run]*virtualPart{}
	w.virtualParts(v, parts, 0)
	var out []VirtualTable
	for at, part := range parts {
		if part.last < 0 {
			continue
		}
		t, err := w.virtualTableOf(f, at, part)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no virtual function except its destructor, and debug information does not say where that is", v.Type)
	}
	slices.SortFunc(out, func(a, b VirtualTable) int { return cmp.Compare(a.Object, b.Object) })
	return out, nil
}

// A virtualPart is a part of an object that begins with the address of a virtual table.
type virtualPart struct {
	class *Type
	last  int64 // the last function in its table
}

// virtualParts collects the parts of an object. A class and its primary base begin at one
// address, and share a table.
func (w *World) virtualParts(v Value, parts map[addr.Run]*virtualPart, depth int) {
	at, ok := v.Addr()
	if !ok || depth > maxDepth || !w.hasTable(v.Type, 0) {
		return
	}
	last, _ := lastVirtual(v.Type)
	if part := parts[at]; part == nil {
		parts[at] = &virtualPart{v.Type.Strip(), last}
	} else {
		part.last = max(part.last, last)
	}
	fields := v.Type.Strip().Fields()
	for i := range fields {
		if fields[i].Base {
			w.virtualParts(w.Member(v, &fields[i]), parts, depth+1)
		}
	}
}

// virtualTableOf reads the virtual table of a part of an object.
func (w *World) virtualTableOf(f *Frame, at addr.Run, part *virtualPart) (VirtualTable, error) {
	table, err := w.ReadUint(at, 8)
	out := VirtualTable{Class: part.class.String(), Table: addr.Run(table), Object: at}
	if err != nil {
		return out, err
	}
	text := w.formatter(f, Options{})
	for i := range min(part.last+1, maxMembers) {
		n, err := w.ReadUint(out.Table+addr.Run(8*i), 8)
		if err != nil {
			return out, fmt.Errorf("the virtual table of the %s at %v: %w", part.class, at, err)
		}
		out.Entries = append(out.Entries, VirtualEntry{addr.Run(n), text.symbol(n)})
	}
	return out, nil
}
