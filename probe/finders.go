package probe

import (
	"errors"
	"fmt"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/probe/cfi"
)

// Exceptions look for unwinding information by the first of these functions. A module that has the
// second without the first looks elsewhere, except the sanitizers, whose second calls the
// unwinder's own and has another name as well.
const (
	findFDEName = "_Unwind_Find_FDE"
	raiseName   = "_Unwind_RaiseException"

	interceptorName    = "__interceptor_" + raiseName
	newInterceptorName = "___interceptor_" + raiseName // since LLVM 16
)

// finders are the functions that look for unwinding information, _Unwind_Find_FDE and the like:
// they must find it for the probe's frames. Among them are those by which a program confines
// itself, see quiet.go.
type finders struct {
	p         *Probe
	list      []*patched
	strangers []inferior.Module // that have other unwinders
}

// add prepares the functions that look for unwinding information.
func (fs *finders) add(c *caller, modules []inferior.Module) error {
	for _, m := range modules {
		raises, passes := false, false
		for _, sym := range fs.p.cfg.Functions(m, findFDEName, raiseName, interceptorName, newInterceptorName) {
			switch sym.Name {
			case raiseName:
				raises = true
				continue
			case interceptorName, newInterceptorName:
				passes = true
				continue
			}
			passes = true
			if fs.knows(sym.Addr) {
				continue
			}
			f, err := fs.p.islands.move(c, m, sym.Addr, sym.Size)
			if errors.Is(err, errUnmapped) {
				continue
			}
			if err != nil {
				return fmt.Errorf("%s in %s: %w", findFDEName, m.Name, err)
			}
			fs.list = append(fs.list, f)
		}
		if raises && !passes {
			known := func(o inferior.Module) bool { return o.Low == m.Low && o.Path == m.Path }
			if !slices.ContainsFunc(fs.strangers, known) {
				fs.strangers = append(fs.strangers, m)
			}
		}
	}
	if err := fs.p.addConfining(c, modules); err != nil {
		return err
	}
	// Symbols are bound to the program first. Of libraries, libgcc_s is the one
	// that is used where there are several.
	for _, m := range fs.strangers {
		if !slices.ContainsFunc(fs.list, func(f *patched) bool { return f.confines == 0 }) || m.Name == fs.p.proc.Exe() {
			return fmt.Errorf("exceptions pass through %s, which cannot be given the probe's unwind tables (it has %s without %s)",
				m.Name, raiseName, findFDEName)
		}
	}
	return nil
}

// knows reports whether a function is among them.
func (fs *finders) knows(entry addr.Run) bool {
	return slices.ContainsFunc(fs.list, func(f *patched) bool { return f.entry == entry })
}

// aim builds the thunk of _Unwind_Find_FDE, or of a function by which programs confine themselves.
func (fs *finders) aim(f *patched) error {
	if f.jump != nil {
		return nil
	}
	if err := fs.p.siteTable.passed.lift(f); err != nil {
		return err
	}
	if err := fs.p.islands.settle(f); err != nil {
		return fmt.Errorf("%v in %s: %w", f.entry, f.module.Name, err)
	}
	at := f.island.next()
	w := &writer{at: at}
	trap := addr.Run(0)
	if f.confines == 0 {
		fs.p.siteTable.findFDE(w, f.relocated)
	} else {
		trap = confiningThunk(w, f)
	}
	if w.errs != nil {
		return w.errs
	}
	if _, err := f.island.take(len(w.code)); err != nil {
		return err
	}
	if _, err := fs.p.proc.WriteAt(w.code, int64(at)); err != nil {
		return err
	}
	f.island.note(at, fs.p.tables.rules.ID(frameRow{cfa: 8}.rule()))
	f.island.note(at+addr.Run(len(w.code)), cfi.NoCFIID)
	if trap != 0 {
		if err := fs.p.matcher.plant(trap, fs.p.confining); err != nil {
			return err
		}
	}
	return f.lead(at)
}

// drop forgets those that are gone.
func (fs *finders) drop(gone func(*patched) bool) {
	fs.list = slices.DeleteFunc(fs.list, func(f *patched) bool {
		if !gone(f) {
			return false
		}
		_ = f.lift() // its memory is unmapped
		return true
	})
}

// dropModules forgets those of modules that are gone.
func (fs *finders) dropModules(gone func(inferior.Module) bool) {
	fs.strangers = slices.DeleteFunc(fs.strangers, gone)
	fs.drop(func(f *patched) bool { return gone(f.module) })
}

// reshape has those aimed anew whose jump or trap is not what breakpoints leave room for.
func (fs *finders) reshape() {
	for _, f := range fs.list {
		if !fs.p.islands.shaped(f) {
			f.jump = nil
		}
	}
}
