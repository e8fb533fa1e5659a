package inferior

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"hdb/inferior/corefile"
	"hdb/internal/addr"
	"hdb/internal/procfs"
	"hdb/internal/procroot"

	"golang.org/x/sys/unix"
)

// modules is what the engine knows the ELF files in the target. It is found from the memory map and
// the headers in memory, which works alike for dynamic, static and attached programs and for any C
// library; the dynamic linker is only asked when to look again.
type modules struct {
	p *Process

	list   []Module // by Low
	known  map[moduleKey]Module
	trap   *Trap    // at the dynamic linker's hook
	armed  bool     // the hook has been looked for
	stub   addr.Run // where a stub can be in the vDSO, 0 not looked for or nowhere
	shadow int8     // ShadowStack: 0 not known, 1 no, 2 yes
}

// A moduleKey says that the same file is still at the same place.
type moduleKey struct {
	low    addr.Run
	device string
	inode  uint64
}

func (m *modules) forget() { *m = modules{p: m.p} }

// Modules lists the ELF files mapped now, by address. The list is replaced,
// not changed, when libraries come and go.
func (ms *modules) Modules() []Module { return ms.list }

// rescan looks for modules without calling a hook, and plants the library trap once it can be
// found.
func (ms *modules) rescan() (added, removed []Module) {
	maps, err := ms.p.target.Maps()
	if err != nil {
		return nil, nil // the process has just ended
	}
	if ms.known == nil {
		ms.known = map[moduleKey]Module{}
	}
	var list []Module
	known := map[moduleKey]Module{}
	for _, image := range groupImages(maps) {
		key := moduleKey{image[0].Low, image[0].Device, image[0].Inode}
		m, ok := ms.known[key]
		if !ok {
			if m, ok = ms.readModule(image); !ok {
				continue
			}
			added = append(added, m)
		}
		known[key] = m
		list = append(list, m)
	}
	for key, m := range ms.known {
		if _, ok := known[key]; !ok {
			removed = append(removed, m)
		}
	}
	slices.SortFunc(list, func(a, b Module) int {
		if a.Low < b.Low {
			return -1
		}
		return 1
	})
	ms.list, ms.known, ms.shadow = list, known, 0
	if !ms.armed && ms.p.target.core == nil {
		ms.armLibraryTrap()
	}
	return added, removed
}

// groupImages puts the mappings of one load of a file together. A load
// begins with the file's first page and has code in it.
func groupImages(maps []Mapping) [][]Mapping {
	type file struct {
		device string
		inode  uint64
	}
	latest := map[file]int{}
	var images [][]Mapping
	for _, m := range maps {
		if m.Path == "[vdso]" {
			images = append(images, []Mapping{m})
			continue
		}
		if m.Inode == 0 {
			continue
		}
		f := file{m.Device, m.Inode}
		i, ok := latest[f]
		if m.Offset == 0 && (!ok || images[i][len(images[i])-1].Offset != 0 || m.Low != images[i][len(images[i])-1].High) {
			latest[f] = len(images)
			images = append(images, []Mapping{m})
		} else if ok {
			images[i] = append(images[i], m)
		}
	}
	return slices.DeleteFunc(images, func(image []Mapping) bool {
		return !slices.ContainsFunc(image, func(m Mapping) bool { return m.Perm[2] == 'x' })
	})
}

// readModule reads the ELF header of a load. False: it is no ELF file.
func (ms *modules) readModule(image []Mapping) (Module, bool) {
	low := image[0].Low
	m := Module{Name: image[0].Path, Low: low, High: image[len(image)-1].High, VDSO: image[0].Path == "[vdso]"}
	loads := ms.programHeaders(low, elf.PT_LOAD)
	if len(loads) == 0 {
		return m, false
	}
	first := loads[0]
	m.Bias = addr.Bias(uint64(low) - (first.Vaddr - first.Off))
	end := low
	for _, load := range loads {
		end = max(end, addr.File(load.Vaddr+load.Memsz).Run(m.Bias))
	}
	// What the program maps of the file itself, as V8 does with its code, is elsewhere.
	for len(image) > 1 && image[len(image)-1].Low >= end {
		image = image[:len(image)-1]
	}
	m.High = max(end, image[len(image)-1].High) // end is the end of .bss
	if !m.VDSO {
		m.Path = ms.p.target.openable(image[0])
	}
	return m, true
}

// programHeaders reads those of one type from the header mapped at low.
func (ms *modules) programHeaders(low addr.Run, typ elf.ProgType) []elf.ProgHeader {
	var h [64]byte
	if _, err := ms.p.memory.readAt(h[:], int64(low)); err != nil || string(h[:4]) != elf.ELFMAG || h[4] != byte(elf.ELFCLASS64) {
		return nil
	}
	le := binary.LittleEndian
	phoff, size, count := le.Uint64(h[32:]), int(le.Uint16(h[54:])), int(le.Uint16(h[56:]))
	if size < 56 || count > 256 || phoff > 1<<20 {
		return nil
	}
	table := make([]byte, size*count)
	if _, err := ms.p.memory.readAt(table, int64(low)+int64(phoff)); err != nil {
		return nil
	}
	var found []elf.ProgHeader
	for ; len(table) >= size; table = table[size:] {
		if elf.ProgType(le.Uint32(table)) == typ {
			found = append(found, elf.ProgHeader{Type: typ, Flags: elf.ProgFlag(le.Uint32(table[4:])), Off: le.Uint64(table[8:]), Vaddr: le.Uint64(table[16:]),
				Filesz: le.Uint64(table[32:]), Memsz: le.Uint64(table[40:])})
		}
	}
	return found
}

// A Segment is where a PT_LOAD of a module is in memory.
type Segment struct {
	Low, High addr.Run
	FileHigh  addr.Run // where the bytes of the file end; behind it was zero
	Writable  bool
}

// Segments are those of a module, by the header that is mapped; nil if it cannot be read.
func (ms *modules) Segments(m Module) []Segment {
	var all []Segment
	for _, h := range ms.programHeaders(m.Low, elf.PT_LOAD) {
		low := addr.File(h.Vaddr).Run(m.Bias)
		all = append(all, Segment{low, low + addr.Run(h.Memsz), low + addr.Run(h.Filesz), h.Flags&elf.PF_W != 0})
	}
	return all
}

// Openable is a path under which the file of a process's mapping can be opened: its
// own when that is the same file, else one through the process's eyes.
func (m Mapping) Openable(pid int) string { return m.openable(pid, procroot.Of(pid) != "") }

// openable is Openable of a process that sees other files than hdb if apart is set. The path
// is another file's for hdb then, as a rule, and comes last: that it has the number of the
// inode says nothing unless it is on the same device. A mapping may have another device than
// its file, as on btrfs, which is no matter where the path comes from the process.
func (m Mapping) openable(pid int, apart bool) string {
	seen := []string{
		procfs.Path(pid, "root"+m.Path),
		procfs.Path(pid, fmt.Sprintf("map_files/%x-%x", uint64(m.Low), uint64(m.High))),
		procfs.Path(pid, "exe"),
	}
	if !apart {
		seen = append([]string{m.Path}, seen...)
	}
	for _, path := range seen {
		if st, ok := statOf(path); ok && st.Ino == m.Inode {
			return path
		}
	}
	if st, ok := statOf(m.Path); apart && (!ok || st.Ino != m.Inode || fmt.Sprintf("%02x:%02x", unix.Major(st.Dev), unix.Minor(st.Dev)) != m.Device) {
		return seen[0]
	}
	return m.Path
}

// statOf is what stat(2) says of a file.
func statOf(path string) (*syscall.Stat_t, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return st, ok
}

// armLibraryTrap plants the trap where the dynamic linker reports changes:
// the function that r_debug.r_brk names (System V ABI, link.h). At the first
// instruction that is not yet filled in, but the dynamic linker has a symbol
// for it, in glibc and in musl.
func (ms *modules) armLibraryTrap() {
	auxv, err := ms.p.target.Auxv()
	if err != nil {
		return
	}
	base, entry := addr.Run(auxv[corefile.AtBase]), addr.Run(auxv[corefile.AtEntry])
	hook, ok := ms.libraryHook(base, entry)
	if ok {
		ms.armed = true
		// Without the trap the list of modules is as of the last stop.
		if ms.trap, err = ms.p.traps.plantInternal(hook, ms.libraryEvent); err != nil {
			ms.p.message("library events: %v", err)
		}
		return
	}
	if base == 0 {
		ms.armed = true // static, and without dlopen
		return
	}
	ms.armed = true
	var once *Trap
	once, err = ms.p.traps.plantInternal(entry, func(*Thread) Action {
		if err := once.Remove(); err != nil {
			ms.p.message("library events: %v", err)
		}
		if hook, ok := ms.debugHook(entry); ok {
			if ms.trap, err = ms.p.traps.plantInternal(hook, ms.libraryEvent); err != nil {
				ms.p.message("library events: %v", err)
			}
		}
		return ms.changed(nil)
	})
	if err != nil {
		ms.p.message("library events: %v", err)
	}
}

// libraryHook finds the dynamic linker's hook by r_debug or by its symbol.
func (ms *modules) libraryHook(base, entry addr.Run) (addr.Run, bool) {
	if hook, ok := ms.debugHook(entry); ok {
		return hook, true
	}
	at := base
	if base == 0 {
		at = entry
	}
	for _, m := range ms.list {
		if at < m.Low || at >= m.High || m.VDSO || base == 0 && isGo(m.Path) {
			continue
		}
		if v, ok := elfSymbol(m.Path, "_dl_debug_state"); ok {
			return v.Run(m.Bias), true
		}
	}
	return 0, false
}

// debugHook follows the program's DT_DEBUG to r_debug.r_brk.
func (ms *modules) debugHook(entry addr.Run) (addr.Run, bool) {
	i := slices.IndexFunc(ms.list, func(m Module) bool { return m.Low <= entry && entry < m.High })
	if i < 0 {
		return 0, false
	}
	m := ms.list[i]
	for _, dyn := range ms.programHeaders(m.Low, elf.PT_DYNAMIC) {
		var d [16]byte
		for a := addr.File(dyn.Vaddr).Run(m.Bias); ; a += 16 {
			if _, err := ms.p.memory.readAt(d[:], int64(a)); err != nil {
				return 0, false
			}
			tag, value := binary.LittleEndian.Uint64(d[:]), binary.LittleEndian.Uint64(d[8:])
			if elf.DynTag(tag) == elf.DT_NULL {
				return 0, false
			}
			if elf.DynTag(tag) != elf.DT_DEBUG || value == 0 {
				continue
			}
			// struct r_debug: int r_version; link_map *r_map; r_brk
			if _, err := ms.p.memory.readAt(d[:8], int64(value)+16); err != nil {
				return 0, false
			}
			brk := binary.LittleEndian.Uint64(d[:])
			return addr.Run(brk), brk != 0
		}
	}
	return 0, false
}

// libraryEvent is the handler of the library trap.
func (ms *modules) libraryEvent(t *Thread) Action {
	return ms.changed(t)
}

// changed rescans and tells the hook. by is the thread that has loaded or unloaded libraries,
// nil if none has.
func (ms *modules) changed(by *Thread) Action {
	added, removed := ms.rescan()
	if len(added)+len(removed) == 0 || ms.p.hooks.Modules == nil {
		return Resume
	}
	return ms.p.hooks.Modules(by, added, removed)
}

// elfSymbol looks a defined symbol up in a file's dynamic or full symbols.
func elfSymbol(path, name string) (addr.File, bool) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for _, read := range []func() ([]elf.Symbol, error){f.DynamicSymbols, f.Symbols} {
		symbols, err := read()
		if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
			return 0, false
		}
		for _, s := range symbols {
			if s.Name == name && s.Section != elf.SHN_UNDEF {
				return addr.File(s.Value), true
			}
		}
	}
	return 0, false
}

// isGo reports whether the program at path was built by the Go toolchain.
func isGo(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return f.Section(".go.buildinfo") != nil || f.Section(".note.go.buildid") != nil || f.Section(".gopclntab") != nil
}

// ShadowStack reports whether the kernel guards return addresses of the target (CET,
// x86_Thread_features in proc(5)): then no code may return where it was not called from, and calls
// and returns must be run by the processor. It is asked anew when modules change, as the dynamic
// linker switches the feature on.
func (ms *modules) ShadowStack() bool {
	if ms.shadow == 0 {
		ms.shadow = 1
		if s, _ := procfs.Status(ms.p.target.pid, "x86_Thread_features"); s != "" {
			ms.shadow = 2
		}
	}
	return ms.shadow == 2
}
