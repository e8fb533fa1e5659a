package names

import (
	"errors"
	"fmt"

	"hdb/internal/addr"
	"hdb/symbols"
)

// CodeRange is code at consecutive addresses, [Low, High).
type CodeRange struct{ Low, High addr.Run }

// CodeInfo is the code of a function.
type CodeInfo struct {
	Name   string // "" unknown
	Entry  addr.Run
	Parts  []CodeRange // that with the entry first
	Module string

	// Where the source defines the function; "" unknown.
	File string
	Line int
}

// Code is the code of the function that an address is in, with the copies inlined into it.
func (s Symbols) Code(a addr.Run) (CodeInfo, error) {
	for _, m := range s.r.Images() {
		if !s.r.Covers(m, a) {
			continue
		}
		fn, ok := s.FunctionAround(m, a)
		if !ok {
			continue
		}
		info := CodeInfo{Name: fn.Name, Entry: fn.Low.Run(m.Bias), Module: m.Name, File: fn.DeclFile, Line: fn.DeclLine}
		if fn.High > fn.Low {
			info.Parts = append(info.Parts, CodeRange{fn.Low.Run(m.Bias), fn.High.Run(m.Bias)})
		}
		for _, p := range m.Object.FunctionParts(a.File(m.Bias)) {
			if p.Low != fn.Low {
				info.Parts = append(info.Parts, CodeRange{p.Low.Run(m.Bias), p.High.Run(m.Bias)})
			}
		}
		if len(info.Parts) > 0 {
			return info, nil
		}
	}
	return CodeInfo{}, fmt.Errorf("no function is known to contain %v", a)
}

// LineRows are the rows of the line table from the one that covers low up to high, by
// address, as gdb assigns lines to instructions: of several at an address the last one
// holds, or the last statement among them.
func (s Symbols) LineRows(low, high addr.Run) []LineInfo {
	for _, m := range s.r.Images() {
		if !s.r.Covers(m, low) {
			continue
		}
		from := low.File(m.Bias)
		if fn, ok := m.Object.FunctionAt(from); ok && fn.Low <= from && from < fn.High {
			from = fn.Low
		}
		if rows := lineRows(m, m.Object.Lines.Entries(from, high.File(m.Bias))); len(rows) > 0 {
			return rows
		}
	}
	return nil
}

func lineRows(m Image, entries []symbols.LineEntry) (rows []LineInfo) {
	stmt := false // the last row kept is a statement
	for _, e := range entries {
		row := LineInfo{Addr: e.Addr.Run(m.Bias), End: e.End.Run(m.Bias), File: e.File, Line: e.Line, Module: m.Name}
		switch {
		case len(rows) == 0 || rows[len(rows)-1].Addr != row.Addr:
			rows, stmt = append(rows, row), e.Stmt
		case e.Stmt || !stmt:
			rows[len(rows)-1], stmt = row, e.Stmt
		}
	}
	return rows
}

// errNotInFile is the error of code that no file has.
var errNotInFile = errors.New("not in the code or the initialised data of a file")

// ReadFile reads what the files have at an address: code or initialised data as it is
// before the program runs.
func (s Symbols) ReadFile(b []byte, a addr.Run) error {
	for _, m := range s.r.Images() {
		if s.r.Covers(m, a) && m.Object.File != nil && m.Object.File.ReadAddr(b, a.File(m.Bias)) {
			return nil
		}
	}
	return fmt.Errorf("%v: %w", a, errNotInFile)
}
