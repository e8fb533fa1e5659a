package symbols

import (
	"bytes"
	delf "debug/elf"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"hdb/internal/addr"
	"hdb/internal/rights"
	"hdb/symbols/elf"
)

// A File is an ELF file with the debug file and the dwz file found for it: its
// identity, its sections and its bytes.
type File struct {
	cfg   Config
	elf   *elf.File
	debug *elf.File // the separate debug file, nil without; see debugFile
	alt   *elf.File // the dwz file, nil without; see altFile

	attempts    []Attempt // where these were looked for
	linkProblem string    // why a debug file that exists was refused
	buildID     string

	fetchOnce sync.Once
	fetched   atomic.Pointer[fetched]
}

// fetched is what the fetcher was asked for.
type fetched struct {
	debug, alt *elf.File // nil without
	attempts   []Attempt
	problem    string
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

func newFile(e *elf.File, cfg Config) *File {
	f := &File{cfg: cfg, elf: e}
	elf.Guard(func() {
		f.buildID = e.BuildID()
		s := search{cfg: cfg}
		from := e
		if !e.HasSection(".debug_info") {
			if f.debug = s.linked(s.findDebugFile(e, f.buildID)); f.debug != nil {
				from, s.problem = f.debug, ""
			}
		}
		if from.HasSection(".debug_info") { // else nothing in it refers to the dwz file
			f.alt = s.findAltFile(from)
			if _, _, ok := from.AltLink(); ok && f.alt == nil && s.problem == "" {
				s.problem = altProblem(from)
			}
		}
		f.attempts, f.linkProblem = s.attempts, s.problem
	})
	return f
}

// altProblem says that the dwz file is missing.
func altProblem(f *elf.File) string {
	path, id, _ := f.AltLink()
	return fmt.Sprintf("%s: the dwz file that it shares with others, %s (build ID %s), is missing", f.Path, path, id)
}

// fetch asks the fetcher for the files that no directory has, once. That may take
// long: it is left until DWARF is asked for.
func (f *File) fetch() {
	if f.cfg.Fetch == nil {
		return
	}
	f.fetchOnce.Do(func() {
		got := &fetched{}
		elf.Guard(func() {
			s := search{cfg: f.cfg}
			from := f.debug
			switch {
			case f.debug != nil:
			case f.elf.HasSection(".debug_info"):
				from = f.elf
			default:
				got.debug = s.linked(s.fetchDebugFile(f.buildID))
				if from = got.debug; from != nil {
					got.alt = s.findAltFile(from)
				}
			}
			if from != nil && f.alt == nil && got.alt == nil {
				if _, id, ok := from.AltLink(); ok {
					got.alt = s.fetchDebugFile(id)
				}
			}
			got.attempts, got.problem = s.attempts, s.problem
		})
		f.fetched.Store(got)
	})
}

// debugFile is the separate debug file, nil without. One that is fetched later takes
// the place of none.
func (f *File) debugFile() *elf.File {
	if e := f.fetched.Load(); f.debug == nil && e != nil {
		return e.debug
	}
	return f.debug
}

// altFile is the dwz file, nil without.
func (f *File) altFile() *elf.File {
	if e := f.fetched.Load(); f.alt == nil && e != nil {
		return e.alt
	}
	return f.alt
}

// close unmaps the files.
func (f *File) close() error {
	err := f.elf.Close()
	for _, e := range []*elf.File{f.debugFile(), f.altFile()} {
		if e != nil {
			e.Close()
		}
	}
	return err
}

// Identity tells the object's files from all others, and from the same ones changed: the object,
// its debug file and its dwz file. It is "" if that cannot be decided.
func (f *File) Identity() string {
	ids := []string{f.buildID}
	for _, e := range []*elf.File{f.elf, f.debugFile(), f.altFile()} {
		switch {
		case e == nil:
			ids = append(ids, "none")
		case e.ID == "":
			return ""
		default:
			ids = append(ids, e.Path, e.ID)
		}
	}
	return strings.Join(ids, "\n")
}

// Path is the path or name the object was opened with.
func (f *File) Path() string { return f.elf.Path }

// Owner is the owner of the file, as rights.Of returns it.
func (f *File) Owner() *rights.User { return f.elf.Owner }

// BuildID is the GNU build ID in hexadecimal, "" without.
func (f *File) BuildID() string { return f.buildID }

// GoBuildID is the build ID of the Go toolchain, "" without. Before Go 1.24 its files have no other.
func (f *File) GoBuildID() (id string) {
	elf.Guard(func() { id = f.elf.GoBuildID() })
	return id
}

// ImageBuildID is the build ID, in hexadecimal, of a file whose first bytes are those of image, as
// they are in the memory of a process. "" without.
func ImageBuildID(image []byte) string {
	f, err := elf.OpenReaderAt("image", bytes.NewReader(image), int64(len(image)))
	if err != nil {
		return ""
	}
	return f.BuildID()
}

// Needed is what the file says of the libraries it is linked with.
func (f *File) Needed() Needed {
	var n Needed
	elf.Guard(func() { n = f.elf.Needed() })
	return n
}

// Segments lists the PT_LOAD program headers in file order.
func (f *File) Segments() []Segment { return slices.Clone(f.elf.Segments) }

// Section returns the contents of a section of the file or, failing that, of its
// debug file, decompressed, and its address. The bytes are valid until Close and
// must not be changed.
func (f *File) Section(name string) (data []byte, at addr.File, ok bool) {
	elf.Guard(func() {
		for _, e := range []*elf.File{f.elf, f.debugFile()} {
			if e == nil {
				continue
			}
			b, err := e.Section(name)
			if err != nil || b == nil {
				continue
			}
			data, ok = b, true
			if i := e.SectionIndex(name); i >= 0 {
				at = e.Sections[i].Addr
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
func (f *File) CodeSections() (list []CodeSection) {
	if f.elf.Type != delf.ET_REL {
		return nil
	}
	for _, s := range f.elf.Sections {
		if s.Flags&delf.SHF_EXECINSTR != 0 && s.Alloc() && s.Size > 0 {
			list = append(list, CodeSection{s.Name, Range{s.Addr, s.Addr + addr.File(s.Size)}})
		}
	}
	return list
}

// ReadAddr fills b with the bytes that the file has at address a: code or
// initialised data as it is before relocation.
func (f *File) ReadAddr(b []byte, a addr.File) bool {
	ok := false
	elf.Guard(func() { ok = f.elf.ReadAddr(b, a) })
	return ok
}

// Header is Info without what only symbol tables and DWARF tell: Debug, DWARFVersion,
// Units, Languages, and why DWARF cannot be read.
func (f *File) Header() Info {
	e := f.elf
	info := Info{
		Machine: "x86-64", Class: 64, Entry: e.Entry, Interp: e.Interp,
		BuildID: f.buildID, Go: e.IsGo(), Problem: f.linkProblem,
		Static: e.Interp == "" && e.Type == delf.ET_EXEC,
	}
	switch e.Type {
	case delf.ET_EXEC:
		info.Type = "executable"
	case delf.ET_DYN:
		info.Type = "shared object"
		if e.Interp != "" || e.IsPIE() {
			info.Type, info.PIE = "executable", true
			info.Static = e.Interp == ""
		}
	case delf.ET_REL:
		info.Type = "relocatable"
	case delf.ET_CORE:
		info.Type = "core"
	default:
		info.Type = e.Type.String()
	}
	info.Attempts = slices.Clone(f.attempts)
	if e := f.fetched.Load(); e != nil {
		info.Attempts = append(info.Attempts, e.attempts...)
		if e.debug != nil {
			info.Problem = e.problem
		}
	}
	if e := f.debugFile(); e != nil {
		info.DebugFile = e.Path
	}
	if e := f.altFile(); e != nil {
		info.AltFile = e.Path
	} else {
		from := f.elf
		if e := f.debugFile(); e != nil {
			from = e
		}
		elf.Guard(func() {
			if from.HasSection(".debug_info") {
				info.MissingAlt, info.AltID, _ = from.AltLink()
			}
		})
	}
	return info
}
