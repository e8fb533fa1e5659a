// Package names finds the symbols of a program, of its process or of an opened capture:
// which function and line code belongs to, which files say so, and what would help where
// they say too little.
//
// A Resolver is about one program at a time. Before the program runs it has the symbols of
// its file. While there is a process, Modules are the files that are mapped into it; code in
// none of them may have been made at run time, which JIT interfaces and perf's maps name. A
// recording refers to the modules as they were at an event, which the Resolver keeps as they
// come and go. Of an opened capture it has what the capture kept, and the files that are here.
// Debug files come from the machine, or from debuginfod servers.
//
// The package knows no process: it is given a list of mappings and a reader of memory. It
// prints nothing and knows no commands.
//
// A Resolver belongs to one goroutine, but for Frames of code of the process, JIT.Want and
// Debuginfod, which any goroutine may use while the list of modules does not change.
package names

import (
	"errors"
	"fmt"
	"io"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/internal/diskcache"
	"hdb/internal/rights"
	"hdb/symbols"
	"hdb/unwind"
)

// Settings are what the user may change; they hold for files that are opened later.
type Settings struct {
	DebugDirs []string // folders with debug files by build ID and by path
	Sysroot   string   // a folder below which libraries and sources are looked for first; "" none
	Python    PythonFrames
	Cython    []string // folders with what cython --gdb has written
}

// Config says how a Resolver is wired to its session.
type Config struct {
	Settings *Settings
	Cache    *diskcache.Dir // keeps what takes long to find out of files; may be nil
	Notify   func(string)   // takes one line about something that happened on the way
	Fetched  func(Fetched)  // takes what servers have sent, or not, on any goroutine; nil: Notify takes it as a line
	Injected Injected       // code of the process that is in none of its files; may be nil
	// Change runs a change of what names were found by while no other goroutine asks for
	// names, and forgets what was made of them; nil just runs it.
	Change func(change func())
}

// Injected is code that hdb has put into the process.
type Injected interface {
	unwind.Modules
	Covers(pc addr.Run) bool
}

// A Program is the file to run, or that runs.
type Program struct {
	Path   string          // as found in PATH, absolute
	Object *symbols.Object // nil if it cannot be read
}

// Static reports whether it is known that the program has no dynamic linker.
func (p *Program) Static() bool { return p.Object != nil && p.Object.File.Header().Static }

// Go reports whether it is known to be one of Go.
func (p *Program) Go() bool { return p != nil && p.Object != nil && p.Object.File.Header().Go }

// A Resolver finds names.
type Resolver struct {
	Program     *Program // nil before there is one
	Modules     *Modules // of the process
	JIT         *JIT
	Log         *ModuleLog
	Places      Places
	Symbols     Symbols
	Debuginfod  *Debuginfod
	Interpreted Interpreted // positions of the process's program in Python
	Sources     symbols.Sources
	Cython      *Cython

	cfg     Config
	reading *capture.Reading // of the command that runs; nil: to the end
	files   *files
	mem     io.ReaderAt // the memory of the process; nil without one
	opened  *opened     // the capture; nil without one

	noGoTypes error // see UnknownGoTypes
}

// New is a Resolver without a program.
func New(cfg Config) *Resolver {
	if cfg.Change == nil {
		cfg.Change = func(change func()) { change() }
	}
	if cfg.Fetched == nil {
		cfg.Fetched = func(f Fetched) { cfg.Notify(f.String()) }
	}
	r := &Resolver{cfg: cfg, Debuginfod: newDebuginfod(cfg.Notify, cfg.Fetched)}
	r.files = &files{r: r, open: map[fileID]*symbols.Object{}}
	r.Modules = &Modules{r: r, names: map[addr.Code][]symbols.Frame{}}
	r.JIT, r.Log = &JIT{r: r}, &ModuleLog{r: r}
	r.Cython = &Cython{r: r}
	r.Log.Begin()
	r.Places, r.Symbols = Places{r}, Symbols{r}
	return r
}

// Within has what lists many things end early when the reading is given up, nil never.
// A command begins with it.
func (r *Resolver) Within(reading *capture.Reading) { r.reading, r.noGoTypes = reading, nil }

// Attach makes the process with that PID and memory the one whose code is named. Its modules are
// still to be given.
func (r *Resolver) Attach(pid int, mem io.ReaderAt) {
	r.mem = mem
	r.JIT.begin(pid)
}

// ReadAs has files that the program names looked for below root, "" for hdb's own, and read with the rights of u.
func (r *Resolver) ReadAs(root string, u *rights.User) {
	r.Sources.Root, r.Sources.User = root, u
	r.Sources.Forget()
}

// Exec follows the process to another program, whose modules are still to be given.
func (r *Resolver) Exec(pid int) {
	r.Attach(pid, r.mem)
	r.Modules.reset()
}

// Resumed tells that the process has run since names were asked for.
func (r *Resolver) Resumed() { r.JIT.names.ran() }

// Detach tells that the process is gone. The names of its code that was recorded stay.
func (r *Resolver) Detach() {
	r.mem = nil
	r.Modules.reset()
}

// Close closes all files.
func (r *Resolver) Close() error {
	err := r.CloseCapture()
	r.JIT.names.close()
	r.mem = nil
	err = errors.Join(err, r.files.close())
	r.Modules.reset()
	return err
}

// Open opens a file with symbols, once for all runs: the Resolver closes it.
func (r *Resolver) Open(path string) (*symbols.Object, error) { return r.files.get(path) }

func (r *Resolver) notify(format string, args ...any) { r.cfg.Notify(fmt.Sprintf(format, args...)) }

// An Image is a file with symbols and where it is loaded: at bias 0 while the program does
// not run.
type Image struct {
	Object *symbols.Object
	Bias   addr.Bias
	Name   string // as the process knows it
	Path   string

	// In a capture, where the file was mapped; 0 and 0 otherwise.
	low, high addr.Run
}

// Images are the files whose symbols can be asked for, the program first.
func (r *Resolver) Images() []Image {
	switch {
	case r.opened != nil:
		return r.opened.images()
	case r.mem != nil:
		return r.Modules.images(r.Program)
	case r.Program == nil || r.Program.Object == nil:
		return nil
	}
	return []Image{{Object: r.Program.Object, Name: r.Program.Path, Path: r.Program.Path}}
}

// Covers reports whether the address is in the image, as far as it is known where that is.
func (r *Resolver) Covers(m Image, a addr.Run) bool {
	switch {
	case r.mem != nil:
		mod := r.Modules.At(a)
		return mod != nil && mod.Bias == m.Bias && mod.Path == m.Path
	case m.high != 0:
		return m.low <= a && a < m.high
	}
	return true
}

// nameless is the function that code without a name is in: unwinding information tells where it
// begins.
func nameless(obj *symbols.Object, bias addr.Bias, c addr.Code) (symbols.Frame, bool) {
	table, err := obj.CFI()
	if err != nil || table == nil {
		return symbols.Frame{}, false // said when stacks were walked
	}
	fn, ok := table.FunctionAt(c.Lookup().File(bias))
	return symbols.Frame{Entry: fn.Low}, ok
}

// lookUp resolves code in a file that is mapped with that bias.
func (r *Resolver) lookUp(obj *symbols.Object, bias addr.Bias, c addr.Code) []symbols.Frame {
	if c.IsReturn() {
		return r.Cython.frames(obj, obj.Lookup(c.Lookup().File(bias)))
	}
	return r.Cython.frames(obj, obj.LookupStatement(c.Addr().File(bias)))
}
