package names

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"sync"

	"hdb/internal/addr"
	"hdb/internal/panics"
	"hdb/symbols"
	"hdb/unwind"
)

// A Mapping is a file that a process has mapped.
type Mapping struct {
	Path      string // to open: the file itself, or a way through /proc when it is deleted or in another mount namespace; "" for the vDSO
	Name      string // as the process knows it
	Low, High addr.Run
	Bias      addr.Bias
	VDSO      bool
}

// A Module is a file mapped into the process, with its symbols when they were asked for.
type Module struct {
	Mapping
	opened bool
	obj    *symbols.Object
	err    error // why there is no obj
	table  *unwind.Table
	tabled bool
}

// Modules are the files mapped into the process, by address.
type Modules struct {
	r       *Resolver
	list    []*Module // ascending Low
	changes uint64    // of list and of the modules' symbols
	wanted  symbolSet // that Defined was asked for last

	// opening guards the resolver's files and what Object finds out; it is taken after mu.
	opening sync.Mutex
	// A filter of the recording asks for names on the goroutine that takes the
	// probe's events. The list does not change meanwhile.
	mu    sync.Mutex
	names map[addr.Code][]symbols.Frame // resolved code, until the modules change
}

// Version changes when the modules or their symbols do.
func (m *Modules) Version() uint64 { return m.changes }

// Update takes over the process's list, keeping what is known of modules that stay.
func (m *Modules) Update(now []Mapping) {
	old := m.list
	m.changes++
	m.list = make([]*Module, 0, len(now))
	for _, mod := range now {
		i := slices.IndexFunc(old, func(o *Module) bool {
			return o.Path == mod.Path && o.Low == mod.Low && o.Bias == mod.Bias
		})
		if i >= 0 {
			old[i].Mapping = mod
			m.list = append(m.list, old[i])
		} else {
			m.list = append(m.list, &Module{Mapping: mod})
		}
	}
	slices.SortFunc(m.list, func(a, b *Module) int { return cmp.Compare(a.Low, b.Low) })
	clear(m.names)
}

// At is the module that covers the address, or nil.
func (m *Modules) At(a addr.Run) *Module {
	i, ok := slices.BinarySearchFunc(m.list, a, func(mod *Module, a addr.Run) int { return addr.Compare(mod.Low, mod.High, a) })
	if !ok {
		return nil
	}
	return m.list[i]
}

// ModuleAt gives the unwinder the CFI of the module at pc.
func (m *Modules) ModuleAt(pc addr.Run) (*unwind.Table, addr.Bias, bool) {
	mod := m.At(pc)
	if mod == nil {
		if injected := m.r.cfg.Injected; injected != nil {
			return injected.ModuleAt(pc) // other threads may be in it when one stops
		}
		return nil, 0, false
	}
	if !mod.tabled {
		mod.tabled = true
		if obj, _ := m.Object(mod); obj != nil {
			t, err := obj.CFI()
			if err != nil {
				m.r.notify("%s: no CFI: %v", mod.Name, err)
			}
			mod.table = t
		}
	}
	return mod.table, mod.Bias, true
}

// Object is the module's symbols, opened on first use, or nil with the reason.
func (m *Modules) Object(mod *Module) (*symbols.Object, error) {
	m.opening.Lock()
	defer m.opening.Unlock()
	if mod.opened {
		return mod.obj, mod.err
	}
	mod.opened = true
	if mod.VDSO {
		image := make([]byte, mod.High-mod.Low) // which is there when the process is gone, too
		if _, mod.err = m.r.mem.ReadAt(image, int64(mod.Low)); mod.err == nil {
			mod.obj, mod.err = symbols.OpenReaderAt(mod.Name, bytes.NewReader(image), int64(len(image)), m.r.files.config())
		}
	} else if mod.obj, mod.err = m.r.files.get(mod.Path); mod.err == nil {
		mod.err = m.sameBuild(mod)
	}
	if mod.err != nil && !mod.VDSO {
		if obj := m.r.files.withID(m.mappedID(mod)); obj != nil {
			m.r.notify("%v; names come from %s", mod.err, obj.File.Path())
			mod.obj, mod.err = obj, nil
		}
	}
	if mod.err != nil && mod.obj == nil {
		m.r.notify("%s: no symbols: %v", mod.Name, mod.err)
	}
	return mod.obj, mod.err
}

// ObjectAt is the module that covers the address and its symbols; nil and nil without
// either.
func (m *Modules) ObjectAt(a addr.Run) (*symbols.Object, *Module) {
	mod := m.At(a)
	if mod == nil {
		return nil, nil
	}
	obj, _ := m.Object(mod)
	if obj == nil {
		return nil, nil
	}
	return obj, mod
}

// imageHead is as much of a module's memory as its build ID is looked for in: the note is right
// behind the headers.
const imageHead = 8 << 10

// mappedID is the build ID of what is mapped, "" when it cannot be read.
func (m *Modules) mappedID(mod *Module) string {
	if m.r.mem == nil {
		return ""
	}
	image := make([]byte, min(uint64(mod.High-mod.Low), imageHead))
	n, _ := m.r.mem.ReadAt(image, int64(mod.Low))
	return symbols.ImageBuildID(image[:n])
}

// sameBuild sees to it that the file is the one that is mapped: a path can have got
// another file since, and not everybody may open what it was. Names of another build
// would be wrong.
func (m *Modules) sameBuild(mod *Module) error {
	have, want := mod.obj.File.BuildID(), m.mappedID(mod)
	if want == "" || have == want {
		return nil
	}
	mod.obj = nil // it stays among the files, for the next run
	return fmt.Errorf("%s: %s, the process has %s mapped: not used", mod.Path, idText(have), idText(want))
}

// Frames resolves code to its function and the functions inlined there, innermost first;
// nil when nothing is known of it. Any goroutine may call it while the list does not change.
func (m *Modules) Frames(c addr.Code) []symbols.Frame {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f, ok := m.names[c]; ok {
		return f
	}
	mod := m.At(c.Lookup())
	if mod == nil {
		return m.r.JIT.frames(c) // which keeps what it read until the process runs
	}
	var f []symbols.Frame
	if obj, _ := m.Object(mod); obj != nil {
		f = m.r.lookUp(obj, mod.Bias, c)
	}
	m.names[c] = f
	return f
}

// offset is how far code without a name is in its function, 0 unknown.
func (m *Modules) offset(c addr.Code) uint64 {
	obj, mod := m.ObjectAt(c.Lookup())
	if obj == nil {
		return 0
	}
	fn, ok := nameless(obj, mod.Bias, c)
	if !ok {
		return 0
	}
	return uint64(c.Addr() - fn.Entry.Run(mod.Bias))
}

// images are the modules whose symbols can be read, the program's first.
func (m *Modules) images(program *Program) []Image {
	var out []Image
	for _, mod := range m.list {
		obj, _ := m.Object(mod)
		if obj == nil {
			continue
		}
		in := Image{Object: obj, Bias: mod.Bias, Name: mod.Name, Path: mod.Path}
		if program != nil && obj == program.Object {
			out = slices.Insert(out, 0, in)
		} else {
			out = append(out, in)
		}
	}
	return out
}

// FetchAhead waits for what servers have of the added modules, nil of all, if downloads
// are waited for.
func (m *Modules) FetchAhead(added []Mapping) {
	ctx := m.r.Debuginfod.waiting()
	if ctx == nil {
		return
	}
	var wg panics.Group
	for _, mod := range m.list {
		isNew := func(a Mapping) bool { return a.Low == mod.Low }
		if added != nil && !slices.ContainsFunc(added, isNew) {
			continue
		}
		if obj, _ := m.Object(mod); obj != nil && ctx.Err() == nil {
			wg.Go(func() { obj.Info() })
		}
	}
	wg.Wait()
}

// replace puts obj, the file at path, in the place of old.
func (m *Modules) replace(old, obj *symbols.Object, path string) {
	m.opening.Lock()
	m.changes++
	for _, mod := range m.list {
		if mod.opened && mod.obj == old && mod.Path == path {
			mod.obj, mod.err = obj, nil
			if mod.table == nil {
				mod.tabled = false
			}
		}
	}
	m.r.files.replace(old, obj, path)
	m.opening.Unlock()
	m.mu.Lock()
	clear(m.names)
	m.mu.Unlock()
}

func (m *Modules) reset() {
	m.list = nil
	m.changes++
	clear(m.names)
}

// ModuleInfo is what is known of a module.
type ModuleInfo struct {
	Path, Name string
	Low, High  addr.Run
	Bias       addr.Bias
	BuildID    string
	Debug      string // what names come from: dwarf, symtab, dynsym, none
	DebugFile  string // a separate file they come from
	Err        error  // why nothing could be read
}

// ModuleInfos are the files mapped into the process or seen by the capture.
func (r *Resolver) ModuleInfos() []ModuleInfo {
	if r.opened != nil {
		return r.opened.moduleInfos()
	}
	var rows []ModuleInfo
	for _, mod := range r.Modules.list {
		row := ModuleInfo{Path: mod.Path, Name: mod.Name, Low: mod.Low, High: mod.High, Bias: mod.Bias}
		var obj *symbols.Object
		if obj, row.Err = r.Modules.Object(mod); obj != nil {
			info := obj.Info()
			row.BuildID, row.Debug, row.DebugFile = obj.File.BuildID(), info.Debug.String(), info.DebugFile
		}
		rows = append(rows, row)
	}
	return rows
}
