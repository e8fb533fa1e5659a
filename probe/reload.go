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

// Libraries come and go. What was made for a function of one that is gone stays: a thread may have
// been in it, and most libraries come back to where they were. The process is ahead of what hdb has
// read: code may be gone whose module is known still.

// errUnmapped says that the code of a function is not there.
var errUnmapped = errors.New("its code is not mapped")

// body reads the code of a function, or as much as its first instructions have to be
// looked at for.
func (is *islands) body(entry addr.Run, size uint64) ([]byte, error) {
	b := make([]byte, min(max(size, 64), longestBody))
	n, _ := is.p.proc.ReadAt(b, int64(entry))
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

// intact reports whether the first instructions of a function are where they were.
func (is *islands) intact(f *patched) bool {
	now := make([]byte, len(f.first))
	n, _ := is.p.proc.ReadAt(now, int64(f.entry))
	return n == len(now) && bytes.Equal(now, f.first)
}

// dropSites forgets functions of modules that are gone, and their patches with
// them.
func (st *siteTable) dropSites(gone func(inferior.Module) bool) {
	for _, s := range st.list {
		if !s.dead && gone(s.In) {
			st.retire(s)
		}
	}
	st.p.finders.dropModules(gone)
}

// dropUnmapped forgets functions whose code is gone, though their modules are known. It is
// an error if the code has only changed: what was moved is not what the program would run.
func (st *siteTable) dropUnmapped() error {
	for _, s := range st.list {
		gone := func(f *patched) bool { return f.patch == nil && !st.p.islands.intact(f) }
		if s.dead || s.entrance != 0 || !slices.ContainsFunc(s.patches(), gone) {
			continue
		}
		if st.mapped(&s.patched) {
			return fmt.Errorf("%s in %s: its code has changed", s.Function.Symbol, s.Module)
		}
		st.retire(s)
	}
	st.p.finders.drop(func(f *patched) bool { return f.patch == nil && !st.p.islands.intact(f) })
	return nil
}

// mapped reports whether a function's module is still where it was.
func (st *siteTable) mapped(f *patched) bool {
	maps, err := st.p.proc.Maps()
	return err == nil && slices.ContainsFunc(maps, func(m inferior.Mapping) bool {
		return m.Low <= f.entry && f.entry < m.High && m.Path == f.module.Name && m.Perm[2] == 'x'
	})
}

// retire forgets a function that is gone. Its index stays its own as long as others are
// left, and at least until the records were handled that threads have made.
func (st *siteTable) retire(s *site) {
	_ = s.lift() // its memory is unmapped
	delete(st.byEntry, s.Addr)
	delete(st.behind, pointed{s.Addr, s.found})
	s.dead, s.until = true, st.p.shared.word(hdHead).Load()
	if s.entrance == 0 {
		st.retired[s.Addr] = s
	}
}

// reuse takes into use again what was made for a function when its library was there
// before, if the code is the same.
func (st *siteTable) reuse(b *breakpoints.Site) bool {
	s := st.retired[b.Addr]
	if s == nil || s.ofGo() || s.Size != b.Size || s.In.Low != b.In.Low || s.In.High != b.In.High || s.Release != b.Release || s.Restarts != b.Restarts || !reflect.DeepEqual(s.Function, b.Function) {
		return false
	}
	body, err := st.p.islands.body(b.Addr, b.Size)
	first := s.widest().first
	if err != nil || !bytes.HasPrefix(body, first) || s.noRoom == nil && branchesInto(body, b.Addr, b.Size, len(first)) != nil {
		return false
	}
	st.p.reader.mu.Lock()
	s.Site, s.module, s.dead = b, b.In, false
	st.p.reader.mu.Unlock()
	delete(st.retired, b.Addr)
	st.byEntry[b.Addr] = s
	return true
}

// freeIndex is the index of the next site: the index of the one which has been gone for longest if
// there are no others. ok is false if there is none.
func (st *siteTable) freeIndex() (index int, ok bool) {
	if len(st.list) <= maxSites {
		return len(st.list), true
	}
	st.p.reader.mu.Lock()
	defer st.p.reader.mu.Unlock()
	for i, s := range st.list {
		if s.dead && s.until <= st.p.reader.tail && (!ok || s.until < st.list[index].until) {
			index, ok = i, true
		}
	}
	return index, ok
}

// replace puts a site in the place of one that is gone. The lock is held.
func (st *siteTable) replace(s *site) {
	if old := st.list[s.index]; st.retired[old.Addr] == old {
		delete(st.retired, old.Addr)
	}
	st.list[s.index] = s
	if s.index < len(st.p.reader.functions) {
		st.p.reader.learn(s)
	}
}
