package python

import (
	"encoding/binary"
	"errors"
	"fmt"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// Memory is that of the process.
type Memory interface {
	ReadAt(b []byte, at int64) (int, error)
}

// Symbols finds a symbol that the interpreter's file exports: the executable or libpython.
type Symbols func(name string) (addr.Run, bool)

// An Interpreter is the runtime of CPython in a process.
type Interpreter struct {
	mem      reader
	layout   *layout.Layout
	runtime  addr.Run // _PyRuntime
	codeType addr.Run // PyCode_Type
	version  string
	codes    map[addr.Run]*Code
	tables   int                 // bytes of the tables of codes
	walked   int                 // of these, for the lines of frames
	lines    map[instruction]int // what line has told of them
	last     []calledFrame       // of the last calls, from the outermost
	learned  map[uint64]*Code    // by ID, see Learn;
	before   map[uint64]*Code    // those that Forget has left

	singletons []singleton
}

// A singleton is an object with a name.
type singleton struct {
	at   addr.Run
	text string
}

// ErrNoPython is of a process without CPython.
var ErrNoPython = errors.New("no CPython: the process maps no file that exports _PyRuntime, as every version from 3.7 on does")

// A VersionError is of an interpreter whose structures are not known.
type VersionError struct{ Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("CPython %s: frames of Python are known of 3.8 to 3.13 with the global interpreter lock", e.Version)
}

// Open finds the interpreter.
func Open(mem Memory, symbols Symbols) (*Interpreter, error) {
	runtime, ok := symbols("_PyRuntime")
	if !ok {
		return nil, ErrNoPython
	}
	in := &Interpreter{mem: reader{mem: mem}, runtime: runtime, codes: map[addr.Run]*Code{}, learned: map[uint64]*Code{}}
	minor, version, err := in.release(symbols)
	if err != nil {
		return nil, err
	}
	in.version = version
	if in.layout = layout.Of(minor); in.layout == nil {
		return nil, &VersionError{version}
	}
	if in.codeType, ok = symbols("PyCode_Type"); !ok {
		return nil, fmt.Errorf("CPython %s: it does not export PyCode_Type", version)
	}
	for _, s := range [][2]string{{"_Py_NoneStruct", "None"}, {"_Py_TrueStruct", "True"}, {"_Py_FalseStruct", "False"}, {"_Py_EllipsisObject", "..."}, {"_Py_NotImplementedStruct", "NotImplemented"}} {
		if at, ok := symbols(s[0]); ok {
			in.singletons = append(in.singletons, singleton{at, s[1]})
		}
	}
	return in, nil
}

// Version is that of the interpreter, as far as it tells: "3.11.2", or "3.9".
func (in *Interpreter) Version() string { return in.version }

// since are functions that came with a version and stayed, as the stable ABI has them
// (Misc/stable_abi.toml). Py_Version tells the version itself from 3.11 on.
var since = []struct {
	minor int
	name  string
}{
	{10, "PyModule_AddObjectRef"},
	{9, "PyObject_CallNoArgs"},
	{8, "PyInterpreterState_GetDict"},
}

func (in *Interpreter) release(symbols Symbols) (minor int, version string, err error) {
	if at, ok := symbols("Py_Version"); ok {
		n, err := in.mem.word(at)
		if err != nil {
			return 0, "", fmt.Errorf("Py_Version: %w", err)
		}
		v := uint32(n) // PY_VERSION_HEX
		version = fmt.Sprintf("%d.%d.%d", v>>24, v>>16&0xff, v>>8&0xff)
		if v>>24 != 3 {
			return 0, "", &VersionError{version}
		}
		if _, free := symbols("_Py_MergeZeroLocalRefcount"); free { // of Py_GIL_DISABLED builds
			return 0, "", &VersionError{version + " without the global interpreter lock"}
		}
		return int(v >> 16 & 0xff), version, nil
	}
	for _, s := range since {
		if _, ok := symbols(s.name); ok {
			return s.minor, fmt.Sprintf("3.%d", s.minor), nil
		}
	}
	return 0, "", &VersionError{"3.7"}
}

// A reader reads what structures are made of. left, if it is not nil, is how many bytes it
// may still read.
type reader struct {
	mem  Memory
	left *int
}

// maxRead bounds the bytes that are read to show one value, maxSearch those to find it by a
// name or a key. leastRead is what a read counts at least: it is a system call.
const (
	maxRead   = 8 << 20
	maxSearch = 64 << 20
	leastRead = 256
)

var errTooMuch = errors.New("too much would have to be read")

// Bounded is the interpreter for showing many values, for which together no more is read than
// to find one.
func (in *Interpreter) Bounded() *Interpreter { return in.bounded(maxSearch) }

// bounded is the interpreter for reading so many bytes, which what memory says cannot draw
// out.
func (in *Interpreter) bounded(left int) *Interpreter {
	b := *in
	b.mem.left = &left
	return &b
}

func (r reader) take(n int) error {
	if r.left == nil {
		return nil
	}
	if n = max(n, leastRead); n > *r.left {
		return errTooMuch
	}
	*r.left -= n
	return nil
}

func (r reader) read(at addr.Run, n int) ([]byte, error) {
	if err := r.take(n); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	if got, err := r.mem.ReadAt(b, int64(at)); got < n {
		if err == nil {
			err = fmt.Errorf("%d of %d bytes", got, n)
		}
		return nil, fmt.Errorf("read %v: %w", at, err)
	}
	return b, nil
}

func (r reader) word(at addr.Run) (uint64, error) {
	b, err := r.read(at, 8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

func (r reader) pointer(at addr.Run) (addr.Run, error) {
	n, err := r.word(at)
	return addr.Run(n), err
}

// field is the pointer that a struct has at an offset.
func (r reader) field(at addr.Run, offset int) (addr.Run, error) {
	return r.pointer(at + addr.Run(offset))
}

// count is how many elements an object says that it has.
func (in *Interpreter) count(at addr.Run) (uint64, error) {
	return in.mem.word(at + addr.Run(in.layout.Object.Count))
}

// pointerIn is the pointer at an offset of a struct that was read.
func pointerIn(b []byte, at int) addr.Run { return addr.Run(binary.LittleEndian.Uint64(b[at:])) }

// intIn is the int there.
func intIn(b []byte, at int) int { return int(int32(binary.LittleEndian.Uint32(b[at:]))) }
