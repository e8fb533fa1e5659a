package symbols

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/symbols/elf"
	"hdb/symbols/macho"
)

// MachOConfig says what is read of files of macOS.
type MachOConfig struct {
	Arch      string   // of a fat file: "x86_64", "arm64"; "" x86_64, or the only one
	DebugDirs []string // directories with dSYM bundles, found by UUID
}

// MachO is a program or library of macOS with what is known about its code: the DWARF of its dSYM
// bundle, or its own, or the DWARF of the object files that its debug map names; else its symbols.
// It is safe for any number of goroutines until Close.
type MachO struct {
	file *macho.File
	dsym *macho.File // nil without
	arch string

	dwOnce sync.Once
	dw     *debugInfo

	mapOnce   sync.Once
	objects   []*machoObject
	functions []macho.Origin

	golang goTable

	mu       sync.Mutex
	problems []string
}

// machoObject is an object file of the debug map, opened when an address of it is
// first asked for.
type machoObject struct {
	macho.ObjectFile
	once  sync.Once
	names *machoNames
	dw    *debugInfo
	at    map[string]uint64 // symbol -> address in the object file
}

// IsMachO reports whether a file is one of macOS, or a dSYM bundle.
func IsMachO(path string) bool {
	st, err := os.Stat(path) // before opening: a FIFO would block
	switch {
	case err != nil:
		return false
	case st.IsDir():
		return strings.HasSuffix(filepath.Clean(path), ".dSYM")
	case !st.Mode().IsRegular():
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var b [8]byte
	n, _ := f.Read(b[:])
	return macho.Is(b[:n])
}

// OpenMachO opens a program, a library or an object file of macOS, or a dSYM bundle.
func OpenMachO(path string, cfg MachOConfig) (*MachO, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		inner, err := dsymFile(path, strings.TrimSuffix(filepath.Base(filepath.Clean(path)), ".dSYM"))
		if err != nil {
			return nil, err
		}
		path = inner
	}
	f, err := macho.Open(path, cfg.Arch)
	if err != nil {
		return nil, err
	}
	m := &MachO{file: f, arch: f.Arch}
	m.golang.load = m.loadGo
	if !f.HasDWARF() && f.UUID != "" {
		m.dsym = m.findDSYM(cfg)
	}
	return m, nil
}

// dsymFile is the file with the DWARF in a bundle: the one of that name, or the only one.
func dsymFile(bundle, name string) (string, error) {
	dir := filepath.Join(bundle, "Contents", "Resources", "DWARF")
	list, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range list {
		if e.Name() == name || len(list) == 1 {
			return filepath.Join(dir, e.Name()), nil
		}
	}
	return "", fmt.Errorf("%s: no file %s among %d", dir, name, len(list))
}

// maxBundles bounds the dSYM bundles of a directory that are opened for their UUID.
const maxBundles = 4096

// findDSYM looks next to the program, next to the bundle that it is in, and in the directories of
// cfg, for a dSYM with its UUID.
func (m *MachO) findDSYM(cfg MachOConfig) *macho.File {
	name := filepath.Base(m.file.Path)
	var bundles []string
	for p, up := m.file.Path, 0; up < 4; up++ { // X.app/Contents/MacOS/X
		if up == 0 || filepath.Ext(p) != "" {
			bundles = append(bundles, p+".dSYM")
		}
		p = filepath.Dir(p)
	}
	for _, dir := range cfg.DebugDirs {
		found, _ := filepath.Glob(filepath.Join(globEscape(dir), "*.dSYM")) // the pattern is well-formed
		bundles = append(bundles, found[:min(len(found), maxBundles)]...)
		if strings.HasSuffix(filepath.Clean(dir), ".dSYM") {
			bundles = append(bundles, dir)
		}
	}
	for i, b := range bundles {
		path, err := dsymFile(b, name)
		if err != nil {
			continue
		}
		f, err := macho.Open(path, m.arch)
		if err != nil {
			m.problem(err.Error())
			continue
		}
		if f.UUID == m.file.UUID {
			return f
		}
		if i == 0 {
			m.problem(fmt.Sprintf("%s: UUID %s, wanted %s", path, f.UUID, m.file.UUID))
		}
		f.Close()
	}
	return nil
}

// globEscape takes the meaning from the characters of a pattern.
func globEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

func (m *MachO) problem(s string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.problems, s) {
		m.problems = append(m.problems, s)
	}
}

// Problems says what was found and could not be used so far.
func (m *MachO) Problems() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.problems)
}

// Close unmaps the files. Nothing of m may be used afterwards.
func (m *MachO) Close() error {
	err := m.file.Close()
	if m.dsym != nil {
		m.dsym.Close()
	}
	for _, o := range m.objects {
		if o.names != nil {
			o.names.file.Close()
		}
	}
	return err
}

// Arch is the architecture: "x86_64", "arm64".
func (m *MachO) Arch() string { return m.arch }

// UUID tells builds from each other, in hexadecimal; "" without.
func (m *MachO) UUID() string { return m.file.UUID }

// Segments lists the segments with memory.
func (m *MachO) Segments() []Segment {
	var list []Segment
	for _, s := range m.file.Segments {
		list = append(list, Segment{Off: s.Off, Addr: addr.File(s.Addr), Memsz: s.Memsz, Filesz: s.Filesz, Read: s.Read, Write: s.Write, Exec: s.X})
	}
	return list
}

// Section is the contents and the address of a section: "__text", "__TEXT,__text". The
// bytes are valid until Close.
func (m *MachO) Section(name string) (data []byte, at addr.File, ok bool) {
	elf.Guard(func() {
		s := m.file.Section(name)
		if s == nil {
			return
		}
		at, ok = addr.File(s.Addr), true
		data, _ = m.file.Contents(s) // none in a dSYM
	})
	return data, at, ok
}

// Forget is Object.Forget.
func (m *MachO) Forget() {
	m.dw.forget()
	for _, o := range m.objects {
		o.dw.forget()
	}
}

// Lookup is Object.Lookup.
func (m *MachO) Lookup(a addr.File) []Frame { return m.LookupInto(nil, a) }

// LookupInto is Object.LookupInto.
func (m *MachO) LookupInto(dst []Frame, a addr.File) []Frame {
	frames := dst
	elf.Guard(func() {
		m.dwOnce.Do(func() { m.dw = m.readDWARF() })
		found := m.fromObjects(a)
		if found == nil && m.dw == nil {
			found = m.golang.lookup(a)
		}
		if found != nil {
			frames = append(dst, found...)
		} else {
			frames = m.dw.lookup(dst, a, m.names())
		}
	})
	return frames
}

// SymbolAt is Object.SymbolAt.
func (m *MachO) SymbolAt(a addr.File) (sym Sym, off uint64, ok bool) {
	elf.Guard(func() { sym, _, ok = m.names().symbolAt(a) })
	if !ok {
		return Sym{}, 0, false
	}
	return sym, uint64(a - sym.Addr), true
}

// names are the program's symbols, and where it was stripped those of its dSYM.
func (m *MachO) names() *machoNames { return &machoNames{m.file, m.dsym} }

func (m *MachO) readDWARF() *debugInfo {
	f := m.file
	if m.dsym != nil {
		f = m.dsym
	}
	if !f.HasDWARF() {
		return nil
	}
	dw, err := machoDWARF(f, m.names())
	if err != nil {
		m.problem(err.Error())
	}
	return dw
}

// fromObjects answers by the DWARF of the object file that the function at a came
// from. What is there counts from the object file's own addresses.
func (m *MachO) fromObjects(a addr.File) []Frame {
	if m.dw != nil {
		return nil
	}
	m.mapOnce.Do(m.readMap)
	i := sort.Search(len(m.functions), func(i int) bool { return m.functions[i].Addr > uint64(a) }) - 1
	if i < 0 || uint64(a)-m.functions[i].Addr >= m.functions[i].Size {
		return nil
	}
	fn := m.functions[i]
	o := m.objects[fn.Object]
	o.once.Do(func() { m.openObject(o) })
	at, ok := o.at[fn.Name]
	if !ok {
		return nil
	}
	delta := addr.File(at - fn.Addr)
	frames := o.dw.lookup(nil, a+delta, o.names)
	for i := range frames {
		frames[i].Entry -= delta
	}
	return frames
}

func (m *MachO) readMap() {
	objects, functions := m.file.DebugMap()
	for _, o := range objects {
		m.objects = append(m.objects, &machoObject{ObjectFile: o})
	}
	m.functions = functions
}

// openObject reads an object file that is the one that was linked: a file that was
// changed since is not.
func (m *MachO) openObject(o *machoObject) {
	f, err := macho.Open(o.Path, m.arch)
	if err != nil {
		m.problem(err.Error())
		return
	}
	if o.ModTime != 0 && f.ModTime != o.ModTime {
		m.problem(fmt.Sprintf("%s: changed at %d, the file that was linked at %d", o.Path, f.ModTime, o.ModTime))
		f.Close()
		return
	}
	o.names = &machoNames{f, nil}
	if o.dw, err = machoDWARF(f, o.names); err != nil {
		m.problem(err.Error())
	}
	o.at = map[string]uint64{}
	for _, s := range f.Symbols() {
		o.at[s.Name] = s.Addr
	}
}

// machoDWARF reads the headers of the DWARF in a file; nil without.
func machoDWARF(f *macho.File, names *machoNames) (*debugInfo, error) {
	var s dwarf.Sections
	for name, to := range map[string]*[]byte{
		"info": &s.Info, "abbrev": &s.Abbrev, "str": &s.Str, "line_str": &s.LineStr,
		"str_offsets": &s.StrOffsets, "addr": &s.Addr, "ranges": &s.Ranges,
		"rnglists": &s.RngLists, "line": &s.Line, "aranges": &s.Aranges,
	} {
		b, err := f.DWARF(name)
		if err != nil {
			return nil, err
		}
		*to = b
	}
	if len(s.Info) == 0 {
		return nil, nil
	}
	var exec []elf.Segment
	for i := range f.Sections {
		if s := &f.Sections[i]; s.Code() {
			exec = append(exec, elf.Segment{Addr: addr.File(s.Addr), Memsz: s.Size, Exec: true})
		}
	}
	d, err := newDebugInfo(dwarf.New(s, nil), nil, exec)
	if err != nil {
		err = fmt.Errorf("%s: %w", f.Path, err)
	}
	d.linkage, d.exported = names.mangledAt, func(addr.File) string { return "" }
	return d, err
}

// machoNames are the symbols of one file, or of the second where the first has none.
type machoNames struct {
	file, other *macho.File
}

func (n *machoNames) symbolAt(a addr.File) (Sym, Provenance, bool) {
	for _, f := range []*macho.File{n.file, n.other} {
		if f == nil {
			continue
		}
		s, ok := f.SymbolAt(uint64(a))
		if !ok {
			continue
		}
		sym := Sym{Name: s.Name, Addr: addr.File(s.Addr), Size: s.End - s.Addr, Type: elf.TypeObject, Defined: true, Local: !s.External, Weak: s.Weak, Section: s.Section + 1}
		if f.Sections[s.Section].Code() {
			sym.Type = elf.TypeFunc
		}
		if s.Exported {
			return sym, FromDynsym, true
		}
		return sym, FromSymtab, true
	}
	return Sym{}, FromNone, false
}

func (n *machoNames) mangledAt(a addr.File) string {
	s, _, ok := n.symbolAt(a)
	if !ok || s.Addr != a || !isMangled(s.Name) {
		return ""
	}
	return s.Name
}

func (n *machoNames) lookupSymbol(a addr.File) []Frame {
	return symbolFrame(n.symbolAt(a))
}
