package symbols

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"hdb/internal/rights"
	"hdb/symbols/dwarf"
	"hdb/symbols/elf"
)

// splitFiles finds the entries of skeleton units: in the .dwp file of the object or
// in .dwo files of their own, which are opened when a unit of theirs is first needed.
type splitFiles struct {
	dirs     []string // of the object and its debug file, where relative names are tried, too
	debug    []string // debug directories
	packages []string // paths that a .dwp file can have
	below    func(string) []string
	user     *rights.User

	pkgOnce sync.Once
	pkgs    []*dwarf.Package

	mu     sync.Mutex
	files  map[string]*splitFile
	opened []*elf.File
	mapped int

	lost atomic.Int64 // units that were asked for and have no file
}

// splitFile is a .dwo file that was tried.
type splitFile struct {
	once  sync.Once
	units map[uint64]*dwarf.Unit // by id, linked to their skeletons; nil when there is no such file
}

// maxSampled bounds the .dwo files that Info opens to learn their languages.
const maxSampled = 16

// maxJoined bounds the sections of one name together, in bytes: those of a hostile
// file overlap.
const maxJoined = 1 << 30

// maxMapped bounds the .dwo files of one object that are mapped at a time; what is
// beyond is copied. None stays open as a file.
const maxMapped = 1024

// newSplitFiles prepares the search: f is the file with the DWARF, which may be
// the object's debug file.
func newSplitFiles(object, f *elf.File, cfg Config) *splitFiles {
	s := &splitFiles{files: map[string]*splitFile{}, below: cfg.below, user: cfg.userFor(f), debug: cfg.debugDirs()}
	add := func(list *[]string, paths ...string) {
		for _, p := range paths {
			if !slices.Contains(*list, p) {
				*list = append(*list, p)
			}
		}
	}
	var names []string
	for _, f := range []*elf.File{object, f} {
		add(&names, cfg.names(f)...)
	}
	for _, name := range names {
		add(&s.dirs, filepath.Dir(name))
		plain := strings.TrimSuffix(name, ".debug")
		for _, p := range []string{plain + ".dwp", plain + ".debug.dwp"} {
			add(&s.packages, cfg.below(p)...)
			for _, dir := range s.debug { // laid out as / is, and as gdb expects it
				add(&s.packages, cfg.below(filepath.Join(dir, p))...)
				add(&s.packages, cfg.below(filepath.Join(dir, filepath.Base(p)))...)
			}
		}
	}
	return s
}

// find is the split unit of a skeleton, linked to it; nil when no file has it.
// skeletons are all of the object, by id.
func (s *splitFiles) find(skeleton *dwarf.Unit, skeletons func() map[uint64]*dwarf.Unit) *dwarf.Unit {
	for _, p := range s.openPackages() {
		if u := p.Unit(skeleton); u != nil {
			return u
		}
	}
	root, _ := skeleton.Load()
	for _, path := range s.candidates(root) {
		if u := s.file(path, skeletons).units[root.DwoID]; u != nil && u.Skeleton() == skeleton {
			return u
		}
	}
	s.lost.Add(1)
	return nil
}

// exists reports whether there is a file for a skeleton, without opening .dwo files.
func (s *splitFiles) exists(root *dwarf.Root) bool {
	for _, p := range s.openPackages() {
		if p.Has(root.DwoID) {
			return true
		}
	}
	return slices.ContainsFunc(s.candidates(root), func(path string) bool {
		st, err := os.Stat(path)
		return err == nil && st.Mode().IsRegular()
	})
}

// candidates are the paths that the .dwo file of a unit can have: as it was named, from where it
// was compiled, next to the object, and below the debug directories, by its whole path or, as gdb
// does, by its name.
func (s *splitFiles) candidates(root *dwarf.Root) []string {
	var list []string
	add := func(p string) {
		for _, path := range s.below(p) {
			if !slices.Contains(list, path) {
				list = append(list, path)
			}
		}
	}
	switch {
	case filepath.IsAbs(root.Dwo):
		add(root.Dwo)
	case filepath.IsAbs(root.CompDir):
		add(filepath.Join(root.CompDir, root.Dwo))
	}
	for _, dir := range s.dirs {
		if !filepath.IsAbs(root.Dwo) {
			if !filepath.IsAbs(root.CompDir) { // mapped by -ffile-prefix-map
				add(filepath.Join(dir, root.CompDir, root.Dwo))
			}
			add(filepath.Join(dir, root.Dwo))
		}
		add(filepath.Join(dir, filepath.Base(root.Dwo)))
	}
	for _, dir := range s.debug {
		if !filepath.IsAbs(root.Dwo) {
			add(filepath.Join(dir, root.CompDir, root.Dwo))
		}
		add(filepath.Join(dir, root.Dwo))
	}
	return list
}

// openPackages opens the .dwp files that exist.
func (s *splitFiles) openPackages() []*dwarf.Package {
	s.pkgOnce.Do(func() {
		for _, path := range s.packages {
			f, err := s.open(path)
			if err != nil {
				continue
			}
			if p, err := readPackage(f); err == nil {
				s.pkgs = append(s.pkgs, p)
			}
		}
	})
	return s.pkgs
}

func readPackage(f *elf.File) (*dwarf.Package, error) {
	sections, err := splitSections(f)
	if err != nil {
		return nil, err
	}
	cu, err := f.Section(".debug_cu_index")
	if err != nil {
		return nil, err
	}
	tu, err := f.Section(".debug_tu_index")
	if err != nil {
		return nil, err
	}
	return dwarf.NewPackage(sections, cu, tu)
}

// file opens the .dwo file at path, once.
func (s *splitFiles) file(path string, skeletons func() map[uint64]*dwarf.Unit) *splitFile {
	s.mu.Lock()
	slot := s.files[path]
	if slot == nil {
		slot = &splitFile{}
		s.files[path] = slot
	}
	s.mu.Unlock()
	slot.once.Do(func() {
		f, err := s.open(path)
		if err != nil {
			return
		}
		sections, err := splitSections(f)
		if err != nil {
			return
		}
		slot.units = dwarf.New(sections, nil).LinkSplit(skeletons())
	})
	return slot
}

// open maps the file at path, or copies it when many are mapped.
func (s *splitFiles) open(path string) (*elf.File, error) {
	s.mu.Lock()
	s.mapped++
	full := s.mapped > maxMapped
	s.mu.Unlock()
	f, err := openSplit(s.user, path, full)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil || full {
		s.mapped--
	}
	if err == nil {
		s.opened = append(s.opened, f)
	}
	return f, err
}

func openSplit(u *rights.User, path string, copied bool) (*elf.File, error) {
	if !copied {
		return elf.OpenAs(u, path)
	}
	r, st, err := u.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return elf.OpenReaderAt(path, r, st.Size())
}

// close unmaps the files.
func (s *splitFiles) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.opened {
		f.Close()
	}
	s.opened = nil
}

// splitSections reads the sections of a .dwo or .dwp file.
func splitSections(f *elf.File) (dwarf.Sections, error) {
	var s dwarf.Sections
	for _, p := range []struct {
		name string
		to   *[]byte
	}{
		{"info", &s.Info}, {"types", &s.Types}, {"abbrev", &s.Abbrev}, {"str", &s.Str}, {"str_offsets", &s.StrOffsets},
		{"line", &s.Line}, {"rnglists", &s.RngLists}, {"loc", &s.Loc}, {"loclists", &s.LocLists},
	} {
		var err error
		if *p.to, err = joined(f, "debug_"+p.name+".dwo"); err != nil {
			return dwarf.Sections{}, err
		}
	}
	return s, nil
}

// joined is the sections of a name one after the other: assemblers leave each type
// unit in one of its own, and no linker has seen the file.
func joined(f *elf.File, name string) ([]byte, error) {
	var parts [][]byte
	size := 0
	for i := range f.Sections {
		if n := f.Sections[i].Name; n != "."+name && n != ".z"+name {
			continue
		}
		b, err := f.Contents(i)
		if err != nil {
			return nil, err
		}
		if size += len(b); size > maxJoined {
			return nil, fmt.Errorf("%s: %s exceeds %d bytes", f.Path, name, maxJoined)
		}
		parts = append(parts, b)
	}
	if len(parts) == 1 {
		return parts[0], nil
	}
	return slices.Concat(parts...), nil
}

// body is the unit with the functions of unit i: the split unit of a skeleton. A skeleton whose
// file is missing represents itself: it has no functions, or only those that clang repeats there
// (-fsplit-dwarf-inlining).
func (d *debugInfo) body(i int) *dwarf.Unit {
	p := &d.parts[i]
	p.bodyOnce.Do(func() {
		u := d.units[i]
		p.body = u
		if i < d.own && u.IsSkeleton() {
			if s := d.split.find(u, d.skeletons); s != nil {
				p.body = s
			}
		}
	})
	return p.body
}

// bodies are the split units of all skeletons, and the other units: all .dwo files
// are opened.
func (d *debugInfo) bodies() []*dwarf.Unit {
	d.bodiesOnce.Do(func() {
		list := slices.Clone(d.units)
		for i := range list {
			list[i] = d.body(i)
		}
		d.all = list
	})
	return d.all
}

// skeletons are the skeletons by id; of those with the same the first.
func (d *debugInfo) skeletons() map[uint64]*dwarf.Unit {
	d.skelOnce.Do(func() {
		m := map[uint64]*dwarf.Unit{}
		for _, u := range d.units[:d.own] {
			if !u.IsSkeleton() {
				continue
			}
			root, _ := u.Load()
			if m[root.DwoID] == nil {
				m[root.DwoID] = u
			}
		}
		d.skels = m
	})
	return d.skels
}

// incomplete reports whether an answer missed a .dwo file, or what was cut from the file:
// it may be another when that is there.
func (d *debugInfo) incomplete() bool {
	return d != nil && (d.split.lost.Load() > 0 || d.code.cut.Load())
}

// missingSplit counts the units whose .dwo file is missing; first is its name in the
// first of them.
func (d *debugInfo) missingSplit() (count int, first string) {
	for _, u := range d.units[:d.own] {
		if !u.IsSkeleton() {
			continue
		}
		if root, _ := u.Load(); !d.split.exists(root) {
			if count == 0 {
				first = root.Dwo
			}
			count++
		}
	}
	return count, first
}
