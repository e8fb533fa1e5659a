package symbols

import (
	"cmp"
	delf "debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"hdb/internal/procroot"
	"hdb/internal/rights"
	"hdb/symbols/elf"
)

// An Attempt is a place where a debug file was looked for.
type Attempt struct {
	Path string
	Why  string // what was wrong with it, "" for the file that is used
}

// maxAttempts bounds the list of one object: paths come from the file.
const maxAttempts = 32

// missing is the Why of a path where nothing is.
const missing = "no such file"

// A search looks for the files that go with an ELF file, and keeps where it looked.
type search struct {
	cfg      Config
	attempts []Attempt
	problem  string // of the first file that was there and is not used
}

func (s *search) note(path, why string) {
	if len(s.attempts) < maxAttempts {
		s.attempts = append(s.attempts, Attempt{path, why})
	}
	if s.problem == "" && why != missing && why != "" {
		s.problem = why
		if !strings.Contains(why, path) {
			s.problem = path + ": " + why
		}
	}
}

// openAs opens the file at path with a user's rights, if it is the right one; nil otherwise.
func (s *search) openAs(u *rights.User, path string, check func(*elf.File) error) *elf.File {
	for _, a := range s.attempts {
		if a.Path == path {
			return nil // the same file by another way
		}
	}
	d, err := elf.OpenAs(u, path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotDir):
		s.note(path, missing)
		return nil
	case err != nil:
		s.note(path, err.Error())
		return nil
	}
	if err := check(d); err != nil {
		d.Close()
		s.note(path, err.Error())
		return nil
	}
	s.note(path, "")
	return d
}

// any opens the first of the paths with the right file, with the rights that count for what a file names.
func (s *search) any(from *elf.File, paths []string, check func(*elf.File) error) *elf.File {
	for _, p := range paths {
		if d := s.openAs(s.cfg.userFor(from), p, check); d != nil {
			return d
		}
	}
	return nil
}

// userFor returns whose rights open the files that from names: the configured user's, else those of from's owner. So a debug
// file of another user cannot have root open files for it.
func (c Config) userFor(from *elf.File) *rights.User { return cmp.Or(c.User, from.Owner) }

// roots are the directories that represent / where files of the object are looked for, the
// likeliest first.
func (c Config) roots() []string {
	roots := []string{}
	for _, r := range []string{c.Root, c.Sysroot, "/"} {
		if r = filepath.Clean(r); r != "." && !slices.Contains(roots, r) {
			roots = append(roots, r)
		}
	}
	return roots
}

// below is an absolute path in each root, with the links in it followed there.
func (c Config) below(path string) []string {
	var all []string
	for _, root := range c.roots() {
		all = append(all, procroot.In(root, path))
	}
	return all
}

// byBuildID lists where a debug file of that build ID is: in .build-id of each debug
// directory.
func (c Config) byBuildID(id string) []string {
	if len(id) < 4 {
		return nil
	}
	var all []string
	for _, dir := range c.debugDirs() {
		all = append(all, c.below(filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug"))...)
	}
	return all
}

// names are the paths by which f is known: to its process, as it was opened, and where
// a link leads.
func (c Config) names(f *elf.File) []string {
	var all []string
	add := func(path string) {
		if abs, err := filepath.Abs(path); err == nil && !slices.Contains(all, abs) {
			all = append(all, abs)
		}
	}
	if c.Name != "" {
		add(c.Name)
	}
	if c.Name == "" || !strings.HasPrefix(f.Path, "/proc/") {
		add(f.Path)
	}
	if real, err := filepath.EvalSymlinks(f.Path); err == nil && !strings.HasPrefix(f.Path, "/proc/") {
		add(real)
	}
	for _, name := range slices.Clone(all) {
		for _, root := range c.roots() { // as the inferior calls what is below the root
			if rest, ok := strings.CutPrefix(name, root+"/"); ok && root != "/" {
				add("/" + rest)
			}
		}
	}
	return all
}

// findDebugFile looks for the separate debug file of f where gdb does: by build ID below each debug
// directory, then by debug link next to the file, in its .debug folder and below the debug
// directories.
func (s *search) findDebugFile(f *elf.File, id string) *elf.File {
	if d := s.any(f, s.cfg.byBuildID(id), hasBuildID(id)); d != nil {
		return d
	}
	name, crc, ok := f.DebugLink()
	if !ok {
		return nil
	}
	var paths []string
	for _, own := range s.cfg.names(f) {
		dir := filepath.Dir(own)
		paths = append(paths, s.cfg.below(filepath.Join(dir, name))...)
		paths = append(paths, s.cfg.below(filepath.Join(dir, ".debug", name))...)
		for _, debug := range s.cfg.debugDirs() {
			paths = append(paths, s.cfg.below(filepath.Join(debug, dir, name))...)
		}
	}
	return s.any(f, paths, func(d *elf.File) error { return checkLinked(d, f, id, crc) })
}

// hasBuildID is the check for a file that was looked for by its build ID.
func hasBuildID(id string) func(*elf.File) error {
	return func(d *elf.File) error {
		if got := d.BuildID(); got != id {
			return fmt.Errorf("%s: build ID %s, wanted %s", d.Path, orNone(got), id)
		}
		return nil
	}
}

// checkLinked reports whether a debug link's file belongs to f: by build ID when both have one, by
// checksum otherwise.
func checkLinked(d, f *elf.File, id string, crc uint32) error {
	if got := d.BuildID(); id != "" && got != "" {
		if got == id {
			return nil
		}
		return fmt.Errorf("%s: build ID %s, wanted %s (of %s)", d.Path, got, id, f.Path)
	}
	if got := d.CRC32(); got != crc {
		return fmt.Errorf("%s: checksum %08x, the debug link of %s says %08x", d.Path, got, f.Path, crc)
	}
	return nil
}

func orNone(id string) string {
	if id == "" {
		return "none"
	}
	return id
}

// fetchDebugFile asks the fetcher.
func (s *search) fetchDebugFile(id string) *elf.File {
	if s.cfg.Fetch == nil || id == "" {
		return nil
	}
	path, err := s.cfg.Fetch.DebugInfo(id)
	if err != nil {
		s.note("debuginfod", err.Error())
		return nil
	}
	return s.openAs(nil, path, hasBuildID(id)) // in hdb's own cache
}

// linked gives the debug file of a relocatable file the addresses that Linked gives that
// file. nil if d is, or cannot be linked: its names would be those of other code.
func (s *search) linked(d *elf.File) *elf.File {
	if d == nil || d.Type != delf.ET_REL {
		return d
	}
	defer d.Close()
	copied, err := d.Linked()
	if err != nil {
		s.note(d.Path, err.Error())
		return nil
	}
	return copied
}

// findAltFile opens the dwz file of a file with DWARF. nil when there is none or
// it is not the right one: what refers to it then stays unresolved.
func (s *search) findAltFile(f *elf.File) *elf.File {
	path, id, ok := f.AltLink()
	if !ok {
		return nil
	}
	check := func(d *elf.File) error {
		if got := d.AltID(); got != id {
			return fmt.Errorf("%s: build ID %s, %s wants %s", d.Path, orNone(got), f.Path, id)
		}
		return nil
	}
	var paths []string
	if filepath.IsAbs(path) {
		paths = s.cfg.below(path)
	} else {
		for _, name := range s.cfg.names(f) {
			paths = append(paths, s.cfg.below(filepath.Join(filepath.Dir(name), path))...)
		}
		paths = append(paths, filepath.Join(filepath.Dir(f.Path), path))
		if real, err := filepath.EvalSymlinks(f.Path); err == nil {
			paths = append(paths, filepath.Join(filepath.Dir(real), path))
		}
	}
	paths = append(paths, s.cfg.byBuildID(id)...)
	for _, dir := range s.cfg.debugDirs() {
		paths = append(paths, s.cfg.below(filepath.Join(dir, ".dwz", filepath.Base(path)))...)
	}
	return s.any(f, paths, check)
}
