package symbols

import (
	"fmt"

	"hdb/internal/addr"
	"hdb/internal/diskcache"
	"hdb/internal/rights"
	"hdb/symbols/dwarf"
	"hdb/symbols/elf"
)

// Config says where files are looked for.
type Config struct {
	DebugDirs []string // directories of separate debug files; nil means /usr/lib/debug
	Sysroot   string   // directory that represents / in paths that an object or its debug link names; "" is none
	Root      string   // the root directory of the process that has the object mapped, looked in first; "" is the own one
	Name      string   // what that process calls the file, where that is not the path it is opened by
	// User has the rights with which files are opened that an object names. nil: the owner of the
	// object's file, or where that is root of the file that names them.
	User *rights.User
	// Fetch is asked last, for what no directory has; nil asks no server.
	Fetch Fetcher
	// Cache keeps what Lookup has found for the next time; nil keeps nothing.
	Cache *diskcache.Dir
}

// A Fetcher gets debug files from elsewhere, such as a debuginfod server.
type Fetcher interface {
	// DebugInfo is the path of the debug file with that build ID, hexadecimal. It may
	// take as long as a download does; the file must not change afterwards.
	DebugInfo(buildID string) (path string, err error)
}

func (c Config) debugDirs() []string {
	if c.DebugDirs == nil {
		return []string{"/usr/lib/debug"}
	}
	return c.DebugDirs
}

// The error types and values of Open.
type (
	// ArchError is the error for an ELF file that is not for x86-64.
	ArchError = elf.ArchError
	// Segment is a program header of type PT_LOAD.
	Segment = elf.Segment
	// Sym is an entry of a symbol table.
	Sym = elf.Sym
	// Names are what SymbolsAmong looks for.
	Names = elf.Names
	// Needed is the libraries that an object is linked with.
	Needed = elf.Needed
)

// NewNames are these names, none of them empty.
func NewNames(names []string) *Names { return elf.NewNames(names) }

// ErrNotELF is the cause when a file does not begin with the ELF magic.
var ErrNotELF = elf.ErrNotELF

// DebugKind is the best information an object has about its functions.
type DebugKind uint8

// The kinds of debug information, from none to best.
const (
	DebugNone DebugKind = iota
	DebugDynsym
	DebugMini
	DebugSymtab
	DebugPclntab
	DebugSplit
	DebugDWARF
)

func (k DebugKind) String() string {
	return [...]string{"none", "dynamic symbols only", "dynamic symbols and minidebuginfo", "symbol table only", "Go line table",
		"DWARF split off into .dwo files, which are missing", "DWARF"}[k]
}

// Info describes an object, as `info` commands and the first line of a session show it.
type Info struct {
	Machine      string // "x86-64"
	Class        int    // 64
	Type         string // "executable", "shared object", "relocatable", "core"
	PIE          bool
	Static       bool   // no dynamic section, or a static PIE
	Interp       string // PT_INTERP
	Go           bool   // built by the Go toolchain
	BuildID      string // hexadecimal
	Debug        DebugKind
	DebugFile    string    // path of the separate debug file, "" without
	AltFile      string    // path of the dwz file, "" without
	MissingAlt   string    // path of the dwz file that the DWARF refers to, when it is not there; "" if none is
	AltID        string    // build ID of the dwz file that is missing
	Attempts     []Attempt // where these were looked for, in order
	DWARFVersion int       // the highest version of a unit; 0 without DWARF
	Units        int       // compilation units, type and partial units not counted
	Split        int       // of these, units whose entries are in .dwo or .dwp files
	MissingDwo   int       // of these, units whose file is not there: lines and symbols are all that is known of them
	FirstDwo     string    // name of the first missing .dwo file, as the compiler gave it; "" if none is
	Entry        addr.File
	Languages    []string // sorted
	Problem      string   // why DWARF that exists was not read, or "" (debug link with a wrong CRC, ...)
}

// Provenance says where a function's name comes from.
type Provenance uint8

// The sources of names.
const (
	FromNone Provenance = iota
	FromDynsym
	FromMini
	FromSymtab
	FromPclntab
	FromDWARF
	FromPerfMap // a /tmp/perf-PID.map, written by whoever made the code
	FromJIT     // an ELF image in memory, made by whoever made the code
	FromPython  // CPython's own code object
)

func (p Provenance) String() string {
	return [...]string{"none", "dynsym", "minidebuginfo", "symtab", "pclntab", "dwarf", "perf map", "jit", "python"}[p]
}

// Language is the source language of a unit (DW_AT_language).
type Language = dwarf.Language

// Frame is one function of the chain at an address. For an inlined frame Entry
// is where the inlined copy begins. File and Line of the innermost frame are
// those of the address; those of the frames above are where the call was.
type Frame struct {
	Function string // demangled, as a user writes it
	Linkage  string // as the linker knows it; "" when the same as Function or unknown
	Entry    addr.File
	File     string // absolute where the compilation directory is known; "" unknown
	Line     int    // 0 unknown
	Column   int    // 0 unknown
	// Discriminator tells the parts of a line's code apart, of the innermost frame; 0 without.
	Discriminator int
	Inlined       bool
	Source        Provenance
	Language      Language
}

// Function is a place where a function can be entered.
type Function struct {
	Name       string // demangled, qualified, with parameters where known
	Linkage    string
	Low, High  addr.File // the part [Low, High) that contains the entry, Low
	Breakpoint addr.File // after the prologue, where gdb would stop
	File       string    // of Breakpoint (of the definition when unknown)
	Line       int       // of Breakpoint (of the definition when unknown)
	DeclFile   string    // where the source defines the function; "" unknown
	DeclLine   int
	Inlined    bool // an inlined copy: Low is where it was inlined
	IFunc      bool // STT_GNU_IFUNC: Low is the resolver
	Source     Provenance
	Language   Language
}

// Location is a place with code of a source line.
type Location struct {
	Addr     addr.File
	File     string
	Line     int // may lie after the line asked for
	Function string
	Inlined  bool // in an inlined copy of Function
}

// Range is [Low, High).
type Range struct{ Low, High addr.File }

// Contains reports whether a is in r.
func (r Range) Contains(a addr.File) bool { return r.Low <= a && a < r.High }

func (r Range) String() string { return fmt.Sprintf("[%v, %v)", r.Low, r.High) }

// LineEntry is a row of the line table that covers [Addr, End).
type LineEntry struct {
	Addr, End addr.File
	File      string
	Line      int
	Column    int
	Stmt      bool // is_stmt: a recommended breakpoint place
}

// LineBlock is what stepping by lines needs to know an address.
type LineBlock struct {
	Entry Range // the row of the line table that contains the address
	File  string
	Line  int
	Stmt  bool // the row is a statement: a recommended place for a breakpoint
	Start bool // the address is its first
}
