package python

import (
	"encoding/binary"
	"errors"
	"io"
	"math/big"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/python/eval"
	"hdb/python/inspect"
	"hdb/python/layout"
)

// The tables are what compile() made of this, with the lines that co_lines() tells. At
// the ends of the last two is an instruction without a line.
//
//	def f(x):
//	    if x:
//	        return 1
//
//	    return (
//	        x
//	    )
func TestLines(t *testing.T) {
	for _, c := range []struct {
		minor   int
		table   string
		offsets map[int]int
	}{
		{9, "\x00\x01\x04\x01\x04\x03\x02\xff", map[int]int{-1: 1, 0: 2, 2: 2, 4: 3, 8: 6, 10: 5, 99: 5}},
		{10, "\x04\x01\x04\x01\x02\x03\x02\xff\x02\x80", map[int]int{-2: 1, 0: 2, 4: 3, 8: 6, 10: 5, 12: 0, 14: 0}},
		{11, "\x80\x00\xd8\x07\x08\xf0\x00\x01\x05\x11\xd8\x0f\x10\x88\x71\xf0\x06\x00\x09\x0a\xf0\x03\x02\x05\x06\xf8",
			map[int]int{-2: 1, 0: 1, 2: 2, 4: 2, 6: 3, 8: 3, 10: 6, 12: 5, 14: 0, 16: 0}},
	} {
		code := &Code{FirstLine: 1, minor: c.minor, table: []byte(c.table)}
		for offset, want := range c.offsets {
			if got := code.line(offset); got != want {
				t.Errorf("3.%d: offset %d is in line %d, want %d", c.minor, offset, got, want)
			}
		}
	}
}

// bent is memory that repeats some bytes everywhere, so that chains lead in circles.
type bent []byte

func (m bent) ReadAt(b []byte, at int64) (int, error) {
	if len(m) == 0 || at < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n := min(len(b), len(m))
	for i := range n {
		b[i] = m[(uint64(at)+uint64(i))%uint64(len(m))]
	}
	for n < len(b) {
		n += copy(b[n:], b[:n-n%len(m)])
	}
	return len(b), nil
}

func known(names ...string) Symbols {
	return func(name string) (addr.Run, bool) {
		for i, n := range names {
			if n == name {
				return addr.Run(0x1000 * (i + 1)), true
			}
		}
		return 0, false
	}
}

func TestVersions(t *testing.T) {
	version := func(n uint32) bent { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }
	base := []string{"_PyRuntime", "PyCode_Type", "PyInterpreterState_GetDict"}
	for _, c := range []struct {
		name    string
		mem     bent
		symbols []string
		want    string
		refused bool
	}{
		{"3.7", nil, []string{"_PyRuntime", "PyCode_Type", "PyInterpreterState_GetID"}, "3.7", true},
		{"3.8", nil, base, "3.8", false},
		{"3.9", nil, append(base, "PyObject_CallNoArgs"), "3.9", false},
		{"3.10", nil, append(base, "PyObject_CallNoArgs", "PyModule_AddObjectRef"), "3.10", false},
		{"3.12", version(0x030c01f0), append(base, "Py_Version"), "3.12.1", false},
		{"later", version(0x030e00f0), append(base, "Py_Version"), "3.14.0", true},
		{"without the lock", version(0x030d00f0), append(base, "Py_Version", "_Py_MergeZeroLocalRefcount"), "3.13.0 without the global interpreter lock", true},
	} {
		in, err := Open(c.mem, known(c.symbols...))
		if v := (*VersionError)(nil); errors.As(err, &v) != c.refused || c.refused && v.Version != c.want || !c.refused && (err != nil || in.Version() != c.want) {
			t.Errorf("%s: %+v, %v", c.name, in, err)
		}
	}
	if _, err := Open(nil, known("malloc")); !errors.Is(err, ErrNoPython) {
		t.Errorf("%v, want %v", err, ErrNoPython)
	}
}

// TestNoState asks for the state of a thread before Python has started, and beside a thread that runs it.
func TestNoState(t *testing.T) {
	in, err := Open(bent(make([]byte, 1<<16)), known("_PyRuntime", "PyCode_Type", "PyInterpreterState_GetDict"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := in.StatesOf(1, nil); !errors.Is(err, ErrNoState) || !strings.HasPrefix(err.Error(), "the interpreter has not been started") {
		t.Errorf("no thread has a state: %v", err)
	}
	if _, err := in.StatesAmong([]State{{Thread: 2}}, 1); err != ErrNoState {
		t.Errorf("another thread has a state: %v, want %v", err, ErrNoState)
	}
}

// FuzzFrames reads frames from memory that may hold anything.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{0}, uint8(8))
	f.Add([]byte("\x00\x10\x00\x00\x00\x00\x00\x00\x00\x20\x00\x00\x00\x00\x00\x00"), uint8(12))
	f.Fuzz(func(t *testing.T, mem []byte, minor uint8) {
		in := newInterpreter(bent(mem), layout.Of(int(8+minor%6)), known())
		in.runtime, in.codeType = 0x1000, 0x2000
		if len(mem) > 7 {
			in.codeType = pointerIn(mem, 0)
		}
		_, _ = in.Path(State{})
		_, _ = in.bounded().mem.Attribute(8, "name")
		if v, err := in.bounded().mem.Slice(inspect.Value{At: 16}, big.NewInt(-2), nil); err == nil {
			_ = in.mem.Show(v, inspect.DefaultLimits)
		}
		states, _ := in.States()
		if len(states) > maxThreads {
			t.Errorf("%d states", len(states))
		}
		if own, err := in.StatesOf(uint64(minor), []Thread{{uint64(minor), addr.Run(0).To(64)}}); err == nil {
			states = append(states[:min(len(states), 1)], own[0])
		}
		for _, s := range states[:min(len(states), 2)] {
			st, _ := in.Stack(s)
			if len(st.Frames) > MaxDepth {
				t.Errorf("%d frames", len(st.Frames))
			}
			for _, f := range st.Frames[:min(len(st.Frames), 1)] {
				_, _ = in.Locals(f) // hostile memory has no right answer
				for _, e := range []string{"x.y.z", "x['a'][1:2]", "len(x[5])"} {
					if v, err := eval.Expression(in.mem, in.Names(f), e); err == nil {
						_ = in.mem.Show(v, inspect.DefaultLimits)
					}
				}
			}
		}
		for at := range 4 {
			if text := in.mem.Repr(addr.Run(8*at), inspect.DefaultLimits); len(text) > 1<<18 {
				t.Errorf("a text of %d bytes", len(text))
			}
		}
	})
}
