package symbols

import (
	"cmp"
	"debug/buildinfo"
	"io"
	"slices"
	"sync"

	"hdb/symbols/demangle"
	"hdb/symbols/dwarf"
	"hdb/symbols/elf"
)

// An Object is an ELF file with what is known about its code. Its methods answer from
// all of its parts: by DWARF, and where that is silent by Go's table and the symbols.
type Object struct {
	File   *File
	Symtab *Symtab
	DWARF  *DWARF
	Lines  *Lines

	golang   goTable
	types    goTypes
	wrappers goWrappers
	kept     keptNames
	version  func() (string, error) // see GoVersion

	cfiOnce sync.Once
	cfi     cfiResult
}

func newObject(e *elf.File, cfg Config) *Object {
	o := &Object{File: newFile(e, cfg)}
	o.Symtab = &Symtab{file: o.File, golang: &o.golang}
	o.DWARF = &DWARF{file: o.File, symtab: o.Symtab}
	o.Lines = &Lines{file: o.File, dwarf: o.DWARF, golang: &o.golang}
	o.golang.load, o.version = o.loadGo, sync.OnceValues(o.readGoVersion)
	o.kept.file, o.kept.dwarf = o.File, o.DWARF
	return o
}

// Open opens the ELF file at path. The error wraps ErrNotELF, *ArchError or the
// cause of the operating system.
func Open(path string, cfg Config) (*Object, error) {
	f, err := openLinked(path)
	if err != nil {
		return nil, err
	}
	if cfg.User == nil {
		cfg.User = f.Owner
	}
	return newObject(f, cfg.seen(path)), nil
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

// ReadAhead reads the tables by which functions are found and stacks are walked, which are
// otherwise read when they are first asked for.
func (o *Object) ReadAhead() {
	if o.File.Header().Go {
		o.golang.read()
	}
	o.Symtab.Symbols("malloc")
	_, _ = o.CFI() // told when it is needed
}

// GoVersion is the version of Go that built the file, also a stripped one, in the form of
// runtime.Version: "go1.22.3".
func (o *Object) GoVersion() (string, error) { return o.version() }

func (o *Object) readGoVersion() (version string, err error) {
	cut := elf.Guard(func() {
		var info *buildinfo.BuildInfo
		if info, err = buildinfo.Read(o.File.elf); err == nil {
			version = info.GoVersion
		}
	})
	return version, cmp.Or(cut, err)
}

// Close unmaps the files. Nothing of the object may be used afterwards.
func (o *Object) Close() error {
	o.kept.save()
	if o.DWARF.info != nil {
		o.DWARF.info.split.close()
	}
	return o.File.close()
}

// Info describes the object. With DWARF it reads the root entry of every unit.
func (o *Object) Info() Info {
	o.File.fetch()
	info := o.File.Header()
	elf.Guard(func() { o.describeDebug(&info) })
	return info
}

func (o *Object) describeDebug(info *Info) {
	for _, t := range o.Symtab.tables() {
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
	if _, err := o.File.elf.MiniDebug(); err != nil {
		info.Problem = err.Error()
	}
	dw, err := o.DWARF.read()
	if err != nil {
		info.Problem = err.Error()
	}
	if dw == nil {
		if info.Debug < DebugPclntab && o.golang.read() != nil {
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

// Defines reports whether the symbol table defines the name.
func (o *Object) Defines(name string) bool {
	sym, ok := o.Symtab.Symbol(name)
	return ok && sym.Defined
}
