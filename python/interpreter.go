package python

import (
	"encoding/binary"
	"errors"
	"fmt"

	"hdb/internal/addr"
	"hdb/python/inspect"
	"hdb/python/layout"
)

// Memory is the process's memory.
type Memory interface {
	ReadAt(b []byte, at int64) (int, error)
}

// Symbols finds a symbol that the interpreter's file exports: the executable or libpython.
type Symbols func(name string) (addr.Run, bool)

// An Interpreter is the runtime of CPython in a process.
type Interpreter struct {
	mem      *inspect.Reader
	layout   *layout.Layout
	runtime  addr.Run // _PyRuntime
	codeType addr.Run // PyCode_Type
	version  string
	codes    map[addr.Run]*Code
	tables   int                 // bytes of the tables of codes
	walked   int                 // of these, for the lines of frames
	lines    map[instruction]int // what line has told of them
}

// ErrNoPython is of a process without CPython.
var ErrNoPython = errors.New("no CPython: the process maps no file that exports _PyRuntime, as every version from 3.7 on does")

// A VersionError is of an interpreter whose structures are not known.
type VersionError struct{ Version string }

func (e *VersionError) Error() string {
	return fmt.Sprintf("CPython %s: frames of Python are known of %s with the global interpreter lock", e.Version, layout.Known())
}

// Open finds the interpreter.
func Open(mem Memory, symbols Symbols) (*Interpreter, error) {
	runtime, ok := symbols("_PyRuntime")
	if !ok {
		return nil, ErrNoPython
	}
	minor, version, err := release(mem, symbols)
	if err != nil {
		return nil, err
	}
	l := layout.Of(minor)
	if l == nil {
		return nil, &VersionError{version}
	}
	in := newInterpreter(mem, l, symbols)
	in.runtime, in.version = runtime, version
	if in.codeType, ok = symbols("PyCode_Type"); !ok {
		return nil, fmt.Errorf("CPython %s: it does not export PyCode_Type", version)
	}
	return in, nil
}

func newInterpreter(mem Memory, l *layout.Layout, symbols Symbols) *Interpreter {
	in := &Interpreter{layout: l, codes: map[addr.Run]*Code{}}
	in.mem = inspect.New(mem, l, symbols, func(r *inspect.Reader, at addr.Run) (inspect.Generator, error) { return in.with(r).describe(at) })
	return in
}

// with is the interpreter that is read by another reader.
func (in *Interpreter) with(r *inspect.Reader) *Interpreter {
	b := *in
	b.mem = r
	return &b
}

// bounded is the interpreter for reading what is found by a name or a key.
func (in *Interpreter) bounded() *Interpreter { return in.with(in.mem.Bounded(inspect.MaxSearch)) }

// Objects reads the interpreter's objects.
func (in *Interpreter) Objects() *inspect.Reader { return in.mem }

// Version is the version of the interpreter, as far as it tells: "3.11.2", or "3.9".
func (in *Interpreter) Version() string { return in.version }

// since are functions that came with a version and stayed, as in the stable ABI
// (Misc/stable_abi.toml). Py_Version tells the version itself from 3.11 on.
var since = []struct {
	minor int
	name  string
}{
	{10, "PyModule_AddObjectRef"},
	{9, "PyObject_CallNoArgs"},
	{8, "PyInterpreterState_GetDict"},
}

func release(mem Memory, symbols Symbols) (minor int, version string, err error) {
	if at, ok := symbols("Py_Version"); ok {
		n, err := addr.ReadWord(mem, at)
		if err != nil {
			return 0, "", fmt.Errorf("Py_Version: read %v: %w", at, err)
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

// pointerIn is the pointer at an offset of a struct that was read.
func pointerIn(b []byte, at int) addr.Run { return addr.Run(binary.LittleEndian.Uint64(b[at:])) }

// intIn is the int there.
func intIn(b []byte, at int) int { return int(int32(binary.LittleEndian.Uint32(b[at:]))) }
