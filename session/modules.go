package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/unwind"
)

// A module is a file mapped into the inferior, with its symbols when they were
// asked for.
type module struct {
	inferior.Module
	opened bool
	obj    *symbols.Object
	err    error // why there is no obj
	table  *unwind.Table
	tabled bool
}

// modules are the files mapped into the inferior, by address. Files stay open
// across runs: they are kept by identity, so a rebuilt program is read again.
type modules struct {
	s     *Session
	list  []*module // ascending Low
	files map[fileID]*symbols.Object
	// retired are open still, because something may point into them.
	retired []*symbols.Object

	// opening guards files and what object finds out; it is taken after mu.
	opening sync.Mutex
	// A filter of the recording asks for names on the goroutine that takes the
	// probe's events. The list does not change meanwhile.
	mu    sync.Mutex
	names map[addr.Code][]symbols.Frame // resolved code, until the modules change
}

type fileID struct {
	path       string
	size       int64
	mtimeNanos int64
}

func newModules(s *Session) *modules {
	return &modules{s: s, files: map[fileID]*symbols.Object{}, names: map[addr.Code][]symbols.Frame{}}
}

// update takes over the process's list, keeping what is known of modules that stay.
func (m *modules) update(now []inferior.Module) {
	old := m.list
	m.list = make([]*module, 0, len(now))
	for _, mod := range now {
		i := slices.IndexFunc(old, func(o *module) bool {
			return o.Path == mod.Path && o.Low == mod.Low && o.Bias == mod.Bias
		})
		if i >= 0 {
			old[i].Module = mod
			m.list = append(m.list, old[i])
		} else {
			m.list = append(m.list, &module{Module: mod})
		}
	}
	slices.SortFunc(m.list, func(a, b *module) int {
		switch {
		case a.Low < b.Low:
			return -1
		case a.Low > b.Low:
			return 1
		}
		return 0
	})
	clear(m.names)
}

// at is the module that covers the address, or nil.
func (m *modules) at(a addr.Run) *module {
	i, ok := slices.BinarySearchFunc(m.list, a, func(mod *module, a addr.Run) int { return addr.Compare(mod.Low, mod.High, a) })
	if !ok {
		return nil
	}
	return m.list[i]
}

// ModuleAt gives the unwinder the CFI of the module at pc.
func (m *modules) ModuleAt(pc addr.Run) (*unwind.Table, addr.Bias, bool) {
	mod := m.at(pc)
	if mod == nil {
		if p := m.s.probe; p != nil {
			return p.ModuleAt(pc) // other threads may stand in it when one stops
		}
		return nil, 0, false
	}
	if !mod.tabled {
		mod.tabled = true
		if obj := m.object(mod); obj != nil {
			t, err := obj.CFI()
			if err != nil {
				m.s.notify("%s: no CFI: %v", mod.Name, err)
			}
			mod.table = t
		}
	}
	return mod.table, mod.Bias, true
}

// object is the module's symbols, opened on first use, or nil with mod.err set.
func (m *modules) object(mod *module) *symbols.Object {
	m.opening.Lock()
	defer m.opening.Unlock()
	if mod.opened {
		return mod.obj
	}
	mod.opened = true
	if mod.VDSO {
		image := make([]byte, mod.High-mod.Low) // which is there when the process is gone, too
		if _, mod.err = m.s.proc.ReadAt(image, int64(mod.Low)); mod.err == nil {
			mod.obj, mod.err = symbols.OpenReaderAt(mod.Name, bytes.NewReader(image), int64(len(image)), m.config())
		}
	} else if mod.obj, mod.err = m.open(mod.Path); mod.err == nil {
		mod.err = m.sameBuild(mod)
	}
	if mod.err != nil && !mod.VDSO {
		if obj := m.openByID(m.mappedID(mod)); obj != nil {
			m.s.notify("%v; names come from %s", mod.err, obj.Path())
			mod.obj, mod.err = obj, nil
		}
	}
	if mod.err != nil && mod.obj == nil {
		m.s.notify("%s: no symbols: %v", mod.Name, mod.err)
	}
	return mod.obj
}

// imageHead is as much of a module's memory as its build ID is looked for in: the note
// stands right behind the headers.
const imageHead = 8 << 10

// mappedID is the build ID of what is mapped, "" when it cannot be read.
func (m *modules) mappedID(mod *module) string {
	if m.s.proc == nil {
		return ""
	}
	image := make([]byte, min(uint64(mod.High-mod.Low), imageHead))
	n, _ := m.s.proc.ReadAt(image, int64(mod.Low))
	return symbols.ImageBuildID(image[:n])
}

// sameBuild sees to it that the file is the one that is mapped: a path can have got
// another file since, and not everybody may open what it was. Names of another build
// would be wrong.
func (m *modules) sameBuild(mod *module) error {
	have, want := mod.obj.BuildID(), m.mappedID(mod)
	if want == "" || have == want {
		return nil
	}
	mod.obj = nil // it stays among the files, for the next run
	return fmt.Errorf("%s: %s, the process has %s mapped: not used", mod.Path, idText(have), idText(want))
}

// openByID opens the debug file with that build ID in place of a file that is gone; nil
// without.
func (m *modules) openByID(id string) *symbols.Object {
	if len(id) < 4 {
		return nil
	}
	for _, dir := range m.s.Settings.DebugDirs {
		path := filepath.Join(dir, ".build-id", id[:2], id[2:]+".debug")
		if obj, err := m.open(path); err == nil && obj.BuildID() == id {
			return obj
		}
	}
	if path, err := m.s.fetched(id); err == nil && path != "" {
		if obj, err := m.open(path); err == nil && obj.BuildID() == id {
			return obj
		}
	}
	return nil
}

// openFetched opens a server's debug file with that build ID; nil without an error when
// there is nobody to ask. The caller closes it.
func (m *modules) openFetched(id string) (*symbols.Object, error) {
	path, err := m.s.fetched(id)
	if err != nil || path == "" {
		return nil, err
	}
	return symbols.Open(path, m.config()) // the client has compared the build ID
}

func (m *modules) config() symbols.Config {
	return symbols.Config{DebugDirs: m.s.Settings.DebugDirs, Sysroot: m.s.Settings.Sysroot, Cache: m.s.cfg.Cache, Fetch: m.s.fetcher()}
}

// open opens a file once for all runs.
func (m *modules) open(path string) (*symbols.Object, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	id := fileID{path, st.Size(), st.ModTime().UnixNano()}
	if obj := m.files[id]; obj != nil {
		return obj, nil
	}
	obj, err := symbols.Open(path, m.config())
	if err != nil {
		return nil, err
	}
	m.files[id] = obj
	return obj, nil
}

// frames resolves code to its function and the functions inlined there,
// innermost first; nil when nothing is known of it.
func (m *modules) frames(c addr.Code) []symbols.Frame {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f, ok := m.names[c]; ok {
		return f
	}
	mod := m.at(c.Lookup())
	if mod == nil {
		return m.s.jitFrames(c) // which keeps what it read until the process runs
	}
	var f []symbols.Frame
	if obj := m.object(mod); obj != nil {
		f = lookUp(obj, mod.Bias, c)
	}
	m.names[c] = f
	return f
}

// lookUp resolves code in a file that is mapped with that bias.
func lookUp(obj *symbols.Object, bias addr.Bias, c addr.Code) []symbols.Frame {
	if c.IsReturn() {
		return obj.Lookup(c.Lookup().File(bias))
	}
	return obj.LookupStatement(c.Addr().File(bias))
}

// each calls f for every module whose symbols can be read.
func (m *modules) each(f func(*module, *symbols.Object)) {
	for _, mod := range m.list {
		if obj := m.object(mod); obj != nil {
			f(mod, obj)
		}
	}
}

func (m *modules) reset() {
	m.list = nil
	clear(m.names)
}

// close closes all files.
func (m *modules) close() error {
	var errs []error
	for _, obj := range m.files {
		errs = append(errs, obj.Close())
	}
	for _, obj := range m.retired {
		errs = append(errs, obj.Close())
	}
	clear(m.files)
	m.retired = nil
	m.reset()
	return errors.Join(errs...)
}

// ModuleInfo is a row of `info sharedlibrary`.
type ModuleInfo struct {
	Path, Name string
	Low, High  addr.Run
	Bias       addr.Bias
	BuildID    string
	Debug      string // what names come from: dwarf, symtab, dynsym, none
	DebugFile  string // a separate file they come from
	Err        error  // why nothing could be read
}

// Modules are the files mapped into the inferior or seen by the capture.
func (s *Session) Modules() ([]ModuleInfo, error) {
	switch s.Mode() {
	case Saved:
		return s.savedModules(), nil
	case Live:
	default:
		return nil, ErrNotRunning
	}
	var rows []ModuleInfo
	for _, mod := range s.mods.list {
		row := ModuleInfo{Path: mod.Path, Name: mod.Name, Low: mod.Low, High: mod.High, Bias: mod.Bias}
		if obj := s.mods.object(mod); obj != nil {
			info := obj.Info()
			row.BuildID, row.Debug, row.DebugFile = obj.BuildID(), info.Debug.String(), info.DebugFile
		}
		row.Err = mod.err
		rows = append(rows, row)
	}
	return rows, nil
}

// runtimeModule tells libraries whose frames are not the user's code: the
// language's runtime, the dynamic linker and allocators.
func runtimeModule(path string) bool {
	base := filepath.Base(path)
	for _, p := range []string{"libc.", "libc-", "ld-linux", "ld-musl", "ld-2.", "libstdc++", "libc++", "libgcc_s", "libm.", "libpthread",
		"libjemalloc", "libtcmalloc", "libmimalloc", "linux-vdso", "[vdso]"} {
		if strings.HasPrefix(base, p) {
			return true
		}
	}
	return false
}

// systemSource tells headers and library sources of the toolchain, whose
// functions are inlined into the user's.
func systemSource(file string) bool {
	for _, p := range []string{"/usr/include/", "/usr/lib/gcc/", "/rustc/", "/usr/src/"} {
		if strings.HasPrefix(file, p) {
			return true
		}
	}
	return strings.Contains(file, "/rustlib/src/") || strings.Contains(file, "/include/c++/")
}
