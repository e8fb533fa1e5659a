package session

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/symbols"
)

// SymbolInfo is what `info symbol` finds at an address.
type SymbolInfo struct {
	Name    string
	Linkage string // as the linker knows it, "" when the same
	Offset  uint64
	Size    uint64
	Module  string
}

// SymbolAt names the function or variable that covers the address.
func (s *Session) SymbolAt(a addr.Run) (SymbolInfo, error) {
	for _, m := range s.objects() {
		if !s.covers(m, a) {
			continue
		}
		if sym, off, ok := m.obj.SymbolAt(a.File(m.bias)); ok {
			info := SymbolInfo{Name: symbols.Demangle(sym.Name), Offset: off, Size: sym.Size, Module: m.name}
			if info.Name != sym.Name {
				info.Linkage = sym.Name
			}
			return info, nil
		}
	}
	return SymbolInfo{}, fmt.Errorf("no symbol at %v", a)
}

// FunctionInfo is a row of `info functions`.
type FunctionInfo struct {
	symbols.Function
	Addr   addr.Run
	Module string
}

// Functions are the functions whose name matches, by file, line and name.
func (s *Session) Functions(re *regexp.Regexp) ([]FunctionInfo, error) {
	objs := s.objects()
	if len(objs) == 0 {
		return nil, s.noObjects()
	}
	var out []FunctionInfo
	for _, m := range objs {
		if s.reading.GivenUp() {
			break
		}
		for _, fn := range m.obj.MatchFunctions(re, s.reading.GivenUp) {
			out = append(out, FunctionInfo{Function: fn, Addr: fn.Low.Run(m.bias), Module: m.name})
		}
	}
	slices.SortStableFunc(out, func(a, b FunctionInfo) int {
		return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.DeclFile, b.DeclFile), cmp.Compare(a.DeclLine, b.DeclLine), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Addr, b.Addr))
	})
	return out, nil
}

// SourceFiles are the source files that the debug info names, sorted.
func (s *Session) SourceFiles() ([]string, error) {
	objs := s.objects()
	if len(objs) == 0 && s.saved == nil {
		return nil, ErrNoProgram
	}
	var files []string
	if s.saved != nil {
		files = s.saved.SourceFiles()
	}
	for _, m := range objs {
		if s.reading.GivenUp() {
			break
		}
		files = append(files, m.obj.SourceFiles()...)
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// LineInfo is a row of `info line`.
type LineInfo struct {
	Addr, End addr.Run
	File      string
	Line      int
	Function  string
	Module    string
}

// Lines tells which code a location has; "" is the selected frame's.
func (s *Session) Lines(location string) ([]LineInfo, error) {
	var at []addr.Run
	if location == "" {
		f, err := s.SelectedFrame()
		if err != nil {
			return nil, err
		}
		at = append(at, f.Code.Lookup())
	} else if file, line, ok := s.fileAndLine(location); ok {
		return s.lineRows(file, line), nil
	} else {
		places, err := s.Places(location)
		if err != nil {
			return nil, err
		}
		for _, p := range places {
			at = append(at, p.Addr)
		}
	}
	var rows []LineInfo
	for _, a := range at {
		rows = append(rows, s.lineInfo(a))
	}
	return rows, nil
}

func (s *Session) lineInfo(a addr.Run) LineInfo {
	row := LineInfo{Addr: a, End: a}
	for _, m := range s.objects() {
		if !s.covers(m, a) {
			continue
		}
		b, ok := m.obj.LineBlock(a.File(m.bias))
		if !ok {
			continue
		}
		row.Addr, row.End = b.Entry.Low.Run(m.bias), b.Entry.High.Run(m.bias)
		row.File, row.Line, row.Module = b.File, b.Line, m.name
		if fn, ok := m.obj.FunctionAt(a.File(m.bias)); ok {
			row.Function = fn.Name
		}
		break
	}
	return row
}

// Source is the text of a source file: from the file system, or what the capture
// kept of it. The error says what was tried.
func (s *Session) Source(file string) (*SourceText, error) {
	src, err := s.Sources.Open(file)
	var kept []capture.Excerpt
	if s.saved != nil {
		kept = s.saved.SourceLines(file)
	}
	if err == nil && agree(src.Lines, kept) {
		return &SourceText{Path: src.Path, lines: src.Lines}, nil
	}
	if err != nil {
		if src, fetchErr := s.fetchSource(file); src != nil && agree(src.Lines, kept) {
			return &SourceText{Path: src.Path, lines: src.Lines}, nil
		} else if fetchErr != nil {
			err = fmt.Errorf("%w; %w", err, fetchErr)
		}
	}
	if len(kept) > 0 {
		return &SourceText{Path: file, kept: kept, Changed: err == nil}, nil
	}
	if s.saved != nil {
		return nil, fmt.Errorf("%w; the capture keeps none of it", err)
	}
	return nil, err
}

// HandleSignal says what to do with a signal, now and in later runs.
func (s *Session) HandleSignal(name string, p inferior.Policy) error {
	if s.proc != nil {
		if err := s.proc.HandleSignal(name, p); err != nil {
			return err
		}
	} else if _, err := inferior.SignalNumber(name); err != nil {
		return err
	}
	s.policy[name] = p
	return nil
}

// Signals is the table of `info signals`.
func (s *Session) Signals() []inferior.SignalPolicy {
	if s.proc != nil {
		return s.proc.Signals()
	}
	rows := inferior.DefaultSignals()
	for i, r := range rows {
		if p, ok := s.policy[r.Name]; ok {
			rows[i].Policy = p
		}
	}
	return rows
}

// noObjects is the error of what needs files of the program when there are none.
func (s *Session) noObjects() error {
	if s.saved != nil {
		return errors.New("none of the capture's programs and libraries is here: bt, allocs and list know what it kept")
	}
	return ErrNoProgram
}
