package goruntime_test

import (
	"debug/elf"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"hdb/goruntime"
	"hdb/internal/addr"
	"hdb/symbols"
)

// variables are all that Variable finds.
var variables = []string{
	goruntime.AllGs, goruntime.AllMs, goruntime.Heap, goruntime.FirstModule,
	goruntime.AllFinalizers, goruntime.WaitReasonStrings,
}

// TestVariables compares what is found in code with the symbol table of the program, and with
// what is found in the stripped program, where all may lie a few pages lower.
func TestVariables(t *testing.T) {
	modes := [][]string{{"-buildmode=exe"}, {"-buildmode=pie"}, {"-gcflags=all=-l"}, {"-gcflags=all=-N -l"}}
	for _, toolchain := range some() {
		for _, mode := range modes {
			t.Run(toolchain+"/"+mode[0], func(t *testing.T) {
				// As many bytes of flags, which the program's build information has.
				program := build(t, toolchain, append(mode, "-ldflags=-w=0 ")...)
				whole, want := withSymbols(t, program)
				stripped := withoutSymbols(t, build(t, toolchain, append(mode, "-ldflags=-s -w")...))
				var moved uint64
				for i, name := range variables {
					if got, err := whole.Variable(name); err != nil || got != want[name] {
						t.Errorf("%s at %#x, %v; want %#x", name, got, err, want[name])
					}
					got, err := stripped.Variable(name)
					if i == 0 {
						moved = want[name] - got
					}
					if err != nil || got+moved != want[name] || moved%4096 != 0 {
						t.Errorf("stripped: %s at %#x, %v; want %#x less %d", name, got, err, want[name], moved)
					}
				}
			})
		}
	}
}

// TestVariablesUnknown has functions that are not the runtime's.
func TestVariablesUnknown(t *testing.T) {
	code := strings.Repeat("\x48\x8d\x05\x00\x01\x00\x00", 8) // eight times lea 0x100(%rip),%rax
	p := goruntime.Program{
		Code: strings.NewReader(code),
		Function: func(name string) (low, high uint64, ok bool) {
			return 0, uint64(len(code)), true
		},
	}
	for _, name := range append(slices.Clone(variables), "runtime.nothing") {
		if at, err := p.Variable(name); err == nil {
			t.Errorf("%s at %#x in code that does nothing", name, at)
		}
	}
	p.Function = func(string) (low, high uint64, ok bool) { return 0, 0, false }
	if at, err := p.Variable(goruntime.AllGs); err == nil {
		t.Errorf("allgs at %#x without functions", at)
	}
	p.Symbol = func(string) (uint64, bool) { return 0x1000, true }
	if at, err := p.Variable(goruntime.AllGs); err != nil || at != 0x1000 {
		t.Errorf("allgs at %#x, %v; the symbol table says 0x1000", at, err)
	}
}

// fileMemory reads a program's file by its addresses.
type fileMemory struct{ file *symbols.File }

func (m fileMemory) ReadAt(b []byte, at int64) (int, error) {
	if !m.file.ReadAddr(b, addr.File(at)) {
		return 0, io.EOF
	}
	return len(b), nil
}

// withoutSymbols is a stripped program.
func withoutSymbols(t *testing.T, path string) goruntime.Program {
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Symbols(); !errors.Is(err, elf.ErrNoSymbols) {
		t.Fatalf("%s is not stripped: %v", path, err)
	}
	obj, err := symbols.Open(path, symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return goruntime.Program{
		Code: fileMemory{obj.File},
		Function: func(name string) (low, high uint64, ok bool) {
			list := obj.GoFunctions([]string{name})
			if len(list) != 1 {
				return 0, 0, false
			}
			return uint64(list[0].Low), uint64(list[0].High), true
		},
	}
}

// withSymbols is a program whose symbol table says nothing of variables, and what it says of them.
func withSymbols(t *testing.T, path string) (goruntime.Program, map[string]uint64) {
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	obj, err := symbols.Open(path, symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	at, size := map[string]uint64{}, map[string]uint64{}
	for _, s := range list {
		at[s.Name], size[s.Name] = s.Value, s.Size
	}
	function := func(name string) (low, high uint64, ok bool) {
		low, ok = at[name]
		return low, low + size[name], ok
	}
	return goruntime.Program{Code: fileMemory{obj.File}, Function: function}, at
}
