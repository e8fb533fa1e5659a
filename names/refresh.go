package names

import (
	"errors"
	"fmt"
	"path/filepath"

	"hdb/symbols"
)

// SymbolChange says what a refresh found for a module.
type SymbolChange struct {
	Module, Path  string
	Before, After string // what names come from: dwarf, symtab, ...
	DebugFile     string // a separate file that they come from now
	Err           error  // why there are none, or why what was found is not used
}

// Refresh looks for the files that names come from again: with the settings of now, and
// with debug files that were not there before. It returns the modules whose answers
// change, and those with an error.
func (r *Resolver) Refresh() []SymbolChange {
	r.Sources.Forget()
	r.Debuginfod.forgetFailures()
	r.Debuginfod.takeArrived()
	if r.opened != nil {
		return r.refreshOpened()
	}
	return r.refreshLoaded()
}

// UseArrived opens the modules again for which debug info has come from a server, and
// reports whether any has.
func (r *Resolver) UseArrived() bool {
	if !r.Debuginfod.takeArrived() {
		return false
	}
	r.Sources.Forget()
	r.refreshLoaded()
	return true
}

func (r *Resolver) refreshLoaded() []SymbolChange {
	var changes []SymbolChange
	done := map[string]bool{}
	one := func(path, name string, old *symbols.Object, take func(*symbols.Object)) {
		if path == "" || done[path] {
			return
		}
		done[path] = true
		change := SymbolChange{Module: filepath.Base(name), Path: path, Before: debugOf(old)}
		obj, err := r.reopen(path, old)
		switch {
		case err != nil:
			change.Err = err
			changes = append(changes, change)
		case obj != nil:
			take(obj)
			change.After, change.DebugFile = debugOf(obj), obj.File.Header().DebugFile
			changes = append(changes, change)
		}
	}
	for _, mod := range r.Modules.list {
		if !mod.VDSO && mod.opened {
			one(mod.Path, mod.Name, mod.obj, func(obj *symbols.Object) { r.replace(mod.obj, obj, mod.Path) })
		}
	}
	if p := r.Program; p != nil {
		one(p.Path, p.Path, p.Object, func(obj *symbols.Object) { r.replace(p.Object, obj, p.Path) })
	}
	return changes
}

// reopen opens the file of old once more. It returns nil when nothing has changed,
// and an error when the file is not the one that runs.
func (r *Resolver) reopen(path string, old *symbols.Object) (*symbols.Object, error) {
	obj, err := symbols.Open(path, r.files.config())
	if err != nil {
		if old != nil {
			return nil, nil // it is still open
		}
		return nil, err
	}
	if old == nil {
		return obj, nil
	}
	if h := old.File.Header(); r.Debuginfod.Mode() != DebuginfodOff && (h.Problem != "" || h.DebugFile == "" && old.Info().Debug < symbols.DebugDWARF) {
		obj.Info() // has what is missing fetched
	}
	if have, want := obj.File.BuildID(), old.File.BuildID(); have != want && r.mem != nil {
		obj.Close()
		return nil, fmt.Errorf("%s: %s, the process has %s: not used", path, idText(have), idText(want))
	}
	if problem := obj.File.Header().Problem; sameObject(obj, old) {
		obj.Close()
		if problem != "" {
			return nil, errors.New(problem)
		}
		return nil, nil
	}
	if obj.Info().Debug < old.Info().Debug { // a directory that is no longer asked had more
		obj.Close()
		return nil, nil
	}
	return obj, nil
}

// sameObject tells that two openings have found the same files. Of files that were
// written when they were opened no identity is known, but their build may be.
func sameObject(a, b *symbols.Object) bool {
	idA, idB := a.File.Identity(), b.File.Identity()
	if idA != "" && idB != "" {
		return idA == idB
	}
	x, y := a.File.Header(), b.File.Header()
	return x.BuildID != "" && x.BuildID == y.BuildID && x.DebugFile == y.DebugFile && x.AltFile == y.AltFile
}

// replace puts obj, the file at path, in the place of old, which stays open: unwind tables
// and whoever reads names at the moment point into it.
func (r *Resolver) replace(old, obj *symbols.Object, path string) {
	r.cfg.Change(func() {
		r.Modules.replace(old, obj, path)
		r.Log.replace(old, obj, path)
		if p := r.Program; p != nil && p.Path == path && p.Object == old {
			p.Object = obj
		}
	})
}

func debugOf(obj *symbols.Object) string {
	if obj == nil {
		return symbols.DebugNone.String()
	}
	return obj.Info().Debug.String()
}

// refreshOpened opens the files of a capture's modules again. From then on what they
// say goes before what the capture kept, unless that is more.
func (r *Resolver) refreshOpened() []SymbolChange {
	o := r.opened
	before := map[int]string{}
	for i, m := range o.files {
		before[i] = debugOf(m.obj)
	}
	if err := o.close(); err != nil {
		r.notify("close: %v", err)
	}
	o.again = true
	var changes []SymbolChange
	for i, m := range o.Modules() {
		if m.Path == "" {
			continue
		}
		file := o.file(i)
		c := SymbolChange{Module: ModuleName(m), Path: m.Path, Before: "kept in the capture", Err: file.err}
		if before[i] != "" {
			c.Before = before[i]
		}
		if file.obj != nil {
			c.Path, c.After, c.DebugFile = file.obj.File.Path(), debugOf(file.obj), file.obj.File.Header().DebugFile
		}
		if c.Err != nil || c.After != c.Before {
			changes = append(changes, c)
		}
	}
	return changes
}
