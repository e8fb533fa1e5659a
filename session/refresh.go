package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"hdb/capture"
	"hdb/internal/outfile"
	"hdb/symbols"
)

// SymbolChange says what a refresh found for a module.
type SymbolChange struct {
	Module, Path  string
	Before, After string // what names come from: dwarf, symtab, ...
	DebugFile     string // a separate file that they come from now
	Err           error  // why there are none, or why what was found is not used
}

// RefreshSymbols looks for the files that names come from again: with the
// directories that are set now, and with debug files that were not there before.
// It returns the modules whose answers change, and those with an error.
func (s *Session) RefreshSymbols() ([]SymbolChange, error) {
	s.Sources.Forget()
	s.Debuginfod.forgetFailures()
	s.Debuginfod.takeArrived()
	switch s.Mode() {
	case Saved:
		return s.refreshSaved()
	case Empty:
		return nil, ErrNoProgram
	}
	here, hereErr := s.SelectedFrame()
	changes := s.refreshLoaded()
	s.sel.stack, s.sel.max = Stack{}, 0
	if s.proc == nil {
		s.rebindAll()
		return changes, nil
	}
	s.bindPending()
	if hereErr == nil {
		s.reselect(here)
	}
	return changes, nil
}

// reselect selects the frame again after inlined calls may have become known.
func (s *Session) reselect(old Frame) {
	st, err := s.Stack(0)
	if err != nil {
		return
	}
	same := func(f Frame) bool { return f.CFA == old.CFA && f.Code == old.Code && f.Inlined == old.Inlined }
	if i := slices.IndexFunc(st.Frames, same); i >= 0 {
		s.sel.frame = i
	}
}

func (s *Session) refreshLoaded() []SymbolChange {
	var changes []SymbolChange
	done := map[string]bool{}
	one := func(path, name string, old *symbols.Object, take func(*symbols.Object)) {
		if path == "" || done[path] {
			return
		}
		done[path] = true
		change := SymbolChange{Module: filepath.Base(name), Path: path, Before: debugOf(old)}
		obj, err := s.reopen(path, old)
		switch {
		case err != nil:
			change.Err = err
			changes = append(changes, change)
		case obj != nil:
			take(obj)
			change.After, change.DebugFile = debugOf(obj), obj.Header().DebugFile
			changes = append(changes, change)
		}
	}
	for _, mod := range s.mods.list {
		if !mod.VDSO && mod.opened {
			one(mod.Path, mod.Name, mod.obj, func(obj *symbols.Object) { s.exchange(mod.obj, obj, mod.Path) })
		}
	}
	if s.prog != nil {
		one(s.prog.path, s.prog.path, s.prog.obj, func(obj *symbols.Object) { s.exchange(s.prog.obj, obj, s.prog.path) })
	}
	return changes
}

// reopen opens the file of old once more. It returns nil when nothing has changed,
// and an error when the file is not the one that runs.
func (s *Session) reopen(path string, old *symbols.Object) (*symbols.Object, error) {
	obj, err := symbols.Open(path, s.mods.config())
	if err != nil {
		if old != nil {
			return nil, nil // it is still open
		}
		return nil, err
	}
	if old == nil {
		return obj, nil
	}
	if h := old.Header(); s.fetcher() != nil && (h.Problem != "" || h.DebugFile == "" && old.Info().Debug < symbols.DebugDWARF) {
		obj.Info() // has what is missing fetched
	}
	if have, want := obj.BuildID(), old.BuildID(); have != want && s.proc != nil {
		obj.Close()
		return nil, fmt.Errorf("%s: %s, the process has %s: not used", path, idText(have), idText(want))
	}
	if problem := obj.Header().Problem; sameObject(obj, old) {
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
	idA, idB := a.Identity(), b.Identity()
	if idA != "" && idB != "" {
		return idA == idB
	}
	x, y := a.Header(), b.Header()
	return x.BuildID != "" && x.BuildID == y.BuildID && x.DebugFile == y.DebugFile && x.AltFile == y.AltFile
}

// exchange puts obj in the place of old, which stays open: unwind tables and
// whoever reads names at the moment point into it.
func (s *Session) exchange(old, obj *symbols.Object, path string) {
	s.exclusive(func() {
		s.mods.exchange(old, obj, path)
		for i := range s.modLog.all {
			m := &s.modLog.all[i]
			if m.obj == old && (old != nil || m.Path == path) {
				m.obj = obj
			}
		}
		clear(s.modLog.names)
		s.rec.ForgetAnswers()
		if s.prog != nil && s.prog.path == path && s.prog.obj == old {
			s.prog.obj = obj
		}
	})
}

func (m *modules) exchange(old, obj *symbols.Object, path string) {
	m.opening.Lock()
	for _, mod := range m.list {
		if mod.opened && mod.obj == old && mod.Path == path {
			mod.obj, mod.err = obj, nil
			if mod.table == nil {
				mod.tabled = false
			}
		}
	}
	for id, o := range m.files {
		if o == old {
			delete(m.files, id)
		}
	}
	if old != nil {
		m.retired = append(m.retired, old)
	}
	if st, err := os.Stat(path); err == nil {
		m.files[fileID{path, st.Size(), st.ModTime().UnixNano()}] = obj
	} else {
		m.retired = append(m.retired, obj)
	}
	m.opening.Unlock()
	m.mu.Lock()
	clear(m.names)
	m.mu.Unlock()
}

func debugOf(obj *symbols.Object) string {
	if obj == nil {
		return symbols.DebugNone.String()
	}
	return obj.Info().Debug.String()
}

// refreshSaved opens the files of a capture's modules again. From then on what they
// say goes before what the capture kept, unless that is more.
func (s *Session) refreshSaved() ([]SymbolChange, error) {
	before := map[int]string{}
	for i, m := range s.late.all {
		before[i] = debugOf(m.obj)
	}
	if err := s.late.close(); err != nil {
		s.notify("close: %v", err)
	}
	s.late.again = true
	s.sel.stack, s.sel.max = Stack{}, 0
	var changes []SymbolChange
	for i, m := range s.saved.Modules() {
		if m.Path == "" {
			continue
		}
		late := s.lateModule(i)
		c := SymbolChange{Module: savedName(m), Path: m.Path, Before: "kept in the capture", Err: late.err}
		if before[i] != "" {
			c.Before = before[i]
		}
		if late.obj != nil {
			c.Path, c.After, c.DebugFile = late.obj.Path(), debugOf(late.obj), late.obj.Header().DebugFile
		}
		if c.Err != nil || c.After != c.Before {
			changes = append(changes, c)
		}
	}
	if st, err := s.savedStack(); err == nil {
		s.sel.frame = s.UserFrame(st.Frames)
	}
	return changes, nil
}

// EmbedSymbols writes the opened capture anew with the names and source lines that
// are known now, to path or, if that is "", in its own place. Another file that is
// there is only replaced with force.
func (s *Session) EmbedSymbols(path string, force bool) (SavedInfo, error) {
	if s.saved == nil {
		return SavedInfo{}, errors.New("this is no capture: save FILE keeps names and source lines in one")
	}
	own := path == ""
	to := outfile.File{Path: path, Force: force, Inputs: []string{s.savedPath}}
	if own {
		path = s.savedPath
		to = outfile.File{Path: path, Force: true}
		if d := s.saved.Damage(); d != nil {
			return SavedInfo{}, fmt.Errorf("%w; what can be read goes to another file: symbols embed FILE", d)
		}
	}
	if err := s.writeCapture(to, s.saved); err != nil {
		return SavedInfo{}, fmt.Errorf("symbols embed: %w", err)
	}
	info := savedInfo(path, s.saved)
	if !own {
		return info, nil
	}
	f, err := capture.Open(path)
	if err != nil {
		return SavedInfo{}, err
	}
	old := s.saved
	s.saved = f // with the same numbers of events and stacks
	return info, old.Close()
}
