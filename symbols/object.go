package symbols

import (
	"bytes"
	delf "debug/elf"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"hdb/internal/addr"
	"hdb/symbols/demangle"
	"hdb/symbols/dwarf"
	"hdb/symbols/elf"
)

// An Object is an ELF file with what is known about its code.
type Object struct {
	cfg   Config
	elf   *elf.File
	debug *elf.File // the separate debug file, nil without; see debugFile
	alt   *elf.File // the dwz file, nil without; see altFile

	attempts    []Attempt // where these were looked for
	linkProblem string    // why a debug file that exists was refused
	buildID     string

	fetchOnce sync.Once
	fetched   atomic.Pointer[fetched]

	dwarfOnce sync.Once
	dw        *debugInfo
	dwarfErr  error

	cfiOnce sync.Once
	cfi     cfiResult

	stubs   pltStubs
	goTable goTable
	kept    keptNames
}

// fetched is what the fetcher was asked for.
type fetched struct {
	debug, alt *elf.File // nil without
	attempts   []Attempt
	problem    string
}

// Open opens the ELF file at path. The error wraps ErrNotELF, *ArchError or the
// cause of the operating system.
func Open(path string, cfg Config) (*Object, error) {
	f, err := openLinked(path)
	if err != nil {
		return nil, err
	}
	return newObject(f, cfg.seen(path)), nil
}

// openLinked opens a file, and gives a relocatable one addresses.
func openLinked(path string) (*elf.File, error) {
	f, err := elf.Open(path)
	if err != nil || f.Type != delf.ET_REL {
		return f, err
	}
	defer f.Close()
	var linked *elf.File
	if gerr := elf.Guard(func() { linked, err = f.Linked() }); gerr != nil {
		return nil, fmt.Errorf("%s: %w", path, gerr)
	}
	return linked, err
}

// OpenReaderAt opens an image of size bytes that is not a file, such as the vDSO.
// name is what messages call it.
func OpenReaderAt(name string, r io.ReaderAt, size int64, cfg Config) (*Object, error) {
	f, err := elf.OpenReaderAt(name, r, size)
	if err != nil {
		return nil, err
	}
	return newObject(f, cfg), nil
}

func newObject(f *elf.File, cfg Config) *Object {
	o := &Object{cfg: cfg, elf: f}
	o.guard(func() {
		o.buildID = f.BuildID()
		s := search{cfg: cfg}
		from := f
		if !f.HasSection(".debug_info") {
			if o.debug = s.linked(s.findDebugFile(f, o.buildID)); o.debug != nil {
				from, s.problem = o.debug, ""
			}
		}
		if from.HasSection(".debug_info") { // else nothing in it refers to the dwz file
			o.alt = s.findAltFile(from)
			if _, _, ok := from.AltLink(); ok && o.alt == nil && s.problem == "" {
				s.problem = altProblem(from)
			}
		}
		o.attempts, o.linkProblem = s.attempts, s.problem
	})
	return o
}

// altProblem says that the dwz file is missing.
func altProblem(f *elf.File) string {
	path, id, _ := f.AltLink()
	return fmt.Sprintf("%s: what it shares with others is in %s (build ID %s), which is missing", f.Path, path, id)
}

// fetch asks the fetcher for the files that no directory has, once. That may take
// long: it is left until DWARF is asked for.
func (o *Object) fetch() {
	if o.cfg.Fetch == nil {
		return
	}
	o.fetchOnce.Do(func() {
		got := &fetched{}
		o.guard(func() {
			s := search{cfg: o.cfg}
			from := o.debug
			switch {
			case o.debug != nil:
			case o.elf.HasSection(".debug_info"):
				from = o.elf
			default:
				got.debug = s.linked(s.fetchDebugFile(o.buildID))
				if from = got.debug; from != nil {
					got.alt = s.findAltFile(from)
				}
			}
			if from != nil && o.alt == nil && got.alt == nil {
				if _, id, ok := from.AltLink(); ok {
					got.alt = s.fetchDebugFile(id)
				}
			}
			got.attempts, got.problem = s.attempts, s.problem
		})
		o.fetched.Store(got)
	})
}

// debugFile is the separate debug file, nil without. One that is fetched later takes
// the place of none.
func (o *Object) debugFile() *elf.File {
	if f := o.fetched.Load(); o.debug == nil && f != nil {
		return f.debug
	}
	return o.debug
}

// altFile is the dwz file, nil without.
func (o *Object) altFile() *elf.File {
	if f := o.fetched.Load(); o.alt == nil && f != nil {
		return f.alt
	}
	return o.alt
}

// Close unmaps the files. Nothing of the object may be used afterwards.
func (o *Object) Close() error {
	o.kept.save(o)
	if o.dw != nil {
		o.dw.split.close()
	}
	err := o.elf.Close()
	for _, f := range []*elf.File{o.debugFile(), o.altFile()} {
		if f != nil {
			f.Close()
		}
	}
	return err
}

// guard runs fn over the mapped files. When one of them was cut meanwhile fn ends
// early: what it has found so far stands, the rest is unknown.
func (o *Object) guard(fn func()) error { return elf.Guard(fn) }

// Path is the path or name the object was opened with.
func (o *Object) Path() string { return o.elf.Path }

// BuildID is the GNU build ID in hexadecimal, "" without.
func (o *Object) BuildID() string { return o.buildID }

// ImageBuildID is the build ID, in hexadecimal, of a file whose first bytes are those
// of image, as they lie in the memory of a process. "" without.
func ImageBuildID(image []byte) string {
	f, err := elf.OpenReaderAt("image", bytes.NewReader(image), int64(len(image)))
	if err != nil {
		return ""
	}
	return f.BuildID()
}

// Needed is what the file says of the libraries it is linked with.
func (o *Object) Needed() Needed {
	var n Needed
	o.guard(func() { n = o.elf.Needed() })
	return n
}

// Segments lists the PT_LOAD program headers in file order.
func (o *Object) Segments() []Segment { return slices.Clone(o.elf.Segments) }

// Section returns the contents of a section of the file or, failing that, of its
// debug file, decompressed, and its address. The bytes are valid until Close and
// must not be changed.
func (o *Object) Section(name string) (data []byte, at addr.File, ok bool) {
	o.guard(func() {
		for _, f := range []*elf.File{o.elf, o.debugFile()} {
			if f == nil {
				continue
			}
			b, err := f.Section(name)
			if err != nil || b == nil {
				continue
			}
			data, ok = b, true
			if i := f.SectionIndex(name); i >= 0 {
				at = f.Sections[i].Addr
			}
			return
		}
	})
	return data, at, ok
}

// CodeSection is a section of code of a relocatable file.
type CodeSection struct {
	Name string
	Range
}

// CodeSections lists the sections of code of a relocatable file, none of another. Each
// begins at 0 in the file, and is at Low in the Object.
func (o *Object) CodeSections() (list []CodeSection) {
	if o.elf.Type != delf.ET_REL {
		return nil
	}
	for _, s := range o.elf.Sections {
		if s.Flags&delf.SHF_EXECINSTR != 0 && s.Alloc() && s.Size > 0 {
			list = append(list, CodeSection{s.Name, Range{s.Addr, s.Addr + addr.File(s.Size)}})
		}
	}
	return list
}

// ReadAddr fills b with the bytes that the file has at address a: code or
// initialised data as it is before relocation.
func (o *Object) ReadAddr(b []byte, a addr.File) bool {
	ok := false
	o.guard(func() { ok = o.elf.ReadAddr(b, a) })
	return ok
}

// Info describes the object. With DWARF it reads the root entry of every unit.
func (o *Object) Info() Info {
	o.fetch()
	info := o.Header()
	o.guard(func() { o.describeDebug(&info) })
	return info
}

// Header is Info without what only symbol tables and DWARF tell: Debug, DWARFVersion,
// Units, Languages, and why DWARF cannot be read.
func (o *Object) Header() Info {
	f := o.elf
	info := Info{
		Machine: "x86-64", Class: 64, Entry: f.Entry, Interp: f.Interp,
		BuildID: o.buildID, Go: f.IsGo(), Problem: o.linkProblem,
		Static: f.Interp == "" && f.Type == delf.ET_EXEC,
	}
	switch f.Type {
	case delf.ET_EXEC:
		info.Type = "executable"
	case delf.ET_DYN:
		info.Type = "shared object"
		if f.Interp != "" || f.IsPIE() {
			info.Type, info.PIE = "executable", true
			info.Static = f.Interp == ""
		}
	case delf.ET_REL:
		info.Type = "relocatable"
	case delf.ET_CORE:
		info.Type = "core"
	default:
		info.Type = f.Type.String()
	}
	info.Attempts = slices.Clone(o.attempts)
	if f := o.fetched.Load(); f != nil {
		info.Attempts = append(info.Attempts, f.attempts...)
		if f.debug != nil {
			info.Problem = f.problem
		}
	}
	if f := o.debugFile(); f != nil {
		info.DebugFile = f.Path
	}
	if f := o.altFile(); f != nil {
		info.AltFile = f.Path
	} else {
		from := o.elf
		if f := o.debugFile(); f != nil {
			from = f
		}
		o.guard(func() {
			if from.HasSection(".debug_info") {
				info.MissingAlt, info.AltID, _ = from.AltLink()
			}
		})
	}
	return info
}

func (o *Object) describeDebug(info *Info) {
	for _, t := range o.tables() {
		kind := DebugSymtab
		switch t.from {
		case FromDynsym:
			kind = DebugDynsym
		case FromMini:
			kind = DebugMini
		}
		if t.Len() > 1 {
			info.Debug = max(info.Debug, kind)
		}
	}
	if _, err := o.elf.MiniDebug(); err != nil {
		info.Problem = err.Error()
	}
	dw, err := o.dwarf()
	if err != nil {
		info.Problem = err.Error()
	}
	if dw == nil {
		if info.Debug < DebugPclntab && o.pclntab() != nil {
			info.Debug, info.Languages = DebugPclntab, []string{"go"}
		}
		return
	}
	languages := map[string]bool{}
	info.MissingDwo, info.FirstDwo = dw.missingSplit()
	for i, u := range dw.units {
		root, err := u.Load()
		if err != nil || root.Tag != dwarf.TagCompileUnit && root.Tag != dwarf.TagSkeletonUnit {
			continue
		}
		info.Units++
		if root.Dwo != "" {
			info.Split++
			if info.Split <= maxSampled { // a skeleton does not say its language
				root, _ = dw.body(i).Load()
			}
		}
		info.DWARFVersion = max(info.DWARFVersion, u.Version)
		if l := root.Language.String(); l != "" {
			languages[l] = true
		}
	}
	switch {
	case info.Units > 0 && info.Units == info.MissingDwo:
		info.Debug = DebugSplit
	case info.Units > 0:
		info.Debug = DebugDWARF
	}
	for l := range languages {
		info.Languages = append(info.Languages, l)
	}
	slices.Sort(info.Languages)
}

// Demangle gives a linkage name of C++ or Rust as a user writes it, with
// parameters and without return type. Other names come back unchanged.
func Demangle(s string) string { return demangle.Name(s) }

// IsRust tells the linkage names of Rust.
func IsRust(s string) bool { return demangle.IsRust(s) }
