package probe

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/probe/reloc"
)

// Libraries come and go. What was made for a function of one that is gone stays: a
// thread may have been in it, and most libraries come back to where they were. The
// process is ahead of what hdb was told: code may be gone whose module is known still.

// errUnmapped says that the code of a function is not there.
var errUnmapped = errors.New("its code is not mapped")

// body reads the code of a function, or as much as its first instructions have to be
// looked at for.
func (p *Probe) body(entry addr.Run, size uint64) ([]byte, error) {
	b := make([]byte, min(max(size, 64), longestBody))
	n, _ := p.proc.ReadAt(b, int64(entry))
	if n == 0 {
		return nil, errUnmapped
	}
	return b[:n], nil
}

// branchesInto is reloc.BranchesInto for the body of a function of a size, 0 if that is
// not known.
func branchesInto(body []byte, entry addr.Run, size uint64, covered int) error {
	if size != 0 && size < uint64(len(body)) {
		body = body[:size]
	}
	return reloc.BranchesInto(body, entry, covered)
}

// there tells whether the first instructions of a function are where they were.
func (p *Probe) there(f *patched) bool {
	now := make([]byte, len(f.first))
	n, _ := p.proc.ReadAt(now, int64(f.entry))
	return n == len(now) && bytes.Equal(now, f.first)
}

// dropSites forgets functions of modules that are gone, and their patches with
// them.
func (p *Probe) dropSites(gone func(inferior.Module) bool) {
	for _, s := range p.sites {
		if !s.dead && gone(s.In) {
			p.retire(s)
		}
	}
	p.strangers = slices.DeleteFunc(p.strangers, gone)
	p.dropFinders(func(f *patched) bool { return gone(f.module) })
}

// dropFinders forgets functions that look for unwinding information.
func (p *Probe) dropFinders(gone func(*patched) bool) {
	p.finders = slices.DeleteFunc(p.finders, func(f *patched) bool {
		if !gone(f) {
			return false
		}
		_ = f.lift() // its memory is unmapped
		return true
	})
}

// dropUnmapped forgets functions whose code is gone, though their modules are known. It is
// an error if the code has only changed: what was moved is not what the program would run.
func (p *Probe) dropUnmapped() error {
	for _, s := range p.sites {
		if s.dead || s.patch != nil || p.there(&s.patched) {
			continue
		}
		if p.mapped(&s.patched) {
			return fmt.Errorf("%s in %s: its code has changed", s.Function.Symbol, s.Module)
		}
		p.retire(s)
	}
	p.dropFinders(func(f *patched) bool { return f.patch == nil && !p.there(f) })
	return nil
}

// mapped tells whether a function's module is still where it was.
func (p *Probe) mapped(f *patched) bool {
	maps, err := p.proc.Maps()
	return err == nil && slices.ContainsFunc(maps, func(m inferior.Mapping) bool {
		return m.Low <= f.entry && f.entry < m.High && m.Path == f.module.Name && m.Perm[2] == 'x'
	})
}

// retire forgets a function that is gone. Its index stays its own as long as others are
// left, and at least until the records were handled that threads have made.
func (p *Probe) retire(s *site) {
	_ = s.lift() // its memory is unmapped
	delete(p.byEntry, s.Addr)
	s.dead, s.until = true, p.shared.word(hdHead).Load()
	p.retired[s.Addr] = s
}

// reuse takes into use again what was made for a function when its library was there
// before, if the code is the same.
func (p *Probe) reuse(b *breakpoints.Site) bool {
	s := p.retired[b.Addr]
	if s == nil || s.Size != b.Size || s.In.Low != b.In.Low || s.In.High != b.In.High || s.Release != b.Release || !reflect.DeepEqual(s.Function, b.Function) {
		return false
	}
	body, err := p.body(b.Addr, b.Size)
	first := s.widest().first
	if err != nil || !bytes.HasPrefix(body, first) || s.noRoom == nil && branchesInto(body, b.Addr, b.Size, len(first)) != nil {
		return false
	}
	p.mu.Lock()
	s.Site, s.module, s.dead = b, b.In, false
	p.mu.Unlock()
	delete(p.retired, b.Addr)
	p.byEntry[b.Addr] = s
	return true
}

// freeIndex is the index of the next site: that of the one which has been gone for
// longest if there are no others. ok is false if there is none.
func (p *Probe) freeIndex() (index int, ok bool) {
	if len(p.sites) <= maxSites {
		return len(p.sites), true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, s := range p.sites {
		if s.dead && s.until <= p.tail && (!ok || s.until < p.sites[index].until) {
			index, ok = i, true
		}
	}
	return index, ok
}

// replace puts a site in the place of one that is gone. The lock is held.
func (p *Probe) replace(s *site) {
	if old := p.sites[s.index]; p.retired[old.Addr] == old {
		delete(p.retired, old.Addr)
	}
	p.sites[s.index] = s
	if s.index < len(p.functions) {
		p.know(s)
	}
}
