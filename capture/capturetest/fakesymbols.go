package capturetest

import (
	"fmt"

	"hdb/capture"
	"hdb/internal/addr"
)

// FakeSymbols resolves an address by the module it is in at that time.
type FakeSymbols struct {
	From  capture.Source      // whose modules there are
	Files map[string][]string // lines by name
}

// Resolve is a chain of two functions for an address in a module.
func (s FakeSymbols) Resolve(pc addr.Run, isReturn bool, seq uint64) []capture.Frame {
	for _, m := range s.From.Modules() {
		if m.Holds(pc, seq) {
			return []capture.Frame{
				{Function: fmt.Sprintf("inl_%x", uint64(pc)), File: "/src/a.h", Line: 30, Column: 7, Inlined: true, Source: "dwarf", Language: "c++"},
				{Function: m.Path + "::f", Linkage: "_f", File: "/src/a.cc", Line: int(pc) & 0xfff, Source: "dwarf", Offset: uint64(pc) & 0xff, FuncLow: m.Low},
			}
		}
	}
	return nil
}

// GoType is a type named after its place in the module that the code is in at that time.
func (s FakeSymbols) GoType(code addr.Code, seq uint64, of capture.GoAux) (capture.GoType, bool) {
	for _, m := range s.From.Modules() {
		if m.Holds(code.Lookup(), seq) && of.Word() != 0 {
			return capture.GoType{Name: fmt.Sprintf("%s.T%x", m.Path, of.Word()), Size: uint64(of.Word()) * 8}, true
		}
	}
	return capture.GoType{}, false
}

// SourceLine is the text of one of Files.
func (s FakeSymbols) SourceLine(file string) ([]string, bool) {
	text, ok := s.Files[file]
	return text, ok
}

// Numbered is a text of n lines.
func Numbered(name string, n int) []string {
	text := make([]string, n)
	for i := range text {
		text[i] = fmt.Sprintf("%s line %d", name, i+1)
	}
	return text
}
