package session

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hdb/capture"
	"hdb/internal/addr"
	"hdb/symbols"
)

// Definition is where the source defines the function of that name, as typed; ok is
// false when no debug information says so.
func (s *Session) Definition(name string) (file string, line int, ok bool) {
	inFile := ""
	if f, rest, cut := cutFile(name); cut {
		inFile, name = f, rest
	}
	for _, m := range s.objects() {
		for _, fn := range m.obj.FindFunctions(name) {
			if fn.DeclFile != "" && fn.DeclLine > 0 && (inFile == "" || sameFile(fn.DeclFile, inFile)) {
				return fn.DeclFile, fn.DeclLine, true
			}
		}
	}
	return "", 0, false
}

// lineRows are the rows of `info line` for a line of a file: all code that the line
// has, or the next line with code.
func (s *Session) lineRows(file string, line int) []LineInfo {
	var rows []LineInfo
	for _, m := range s.objects() {
		for _, e := range m.obj.LineRows(file, line) {
			row := LineInfo{Addr: e.Addr.Run(m.bias), End: e.End.Run(m.bias), File: e.File, Line: e.Line, Module: m.name}
			if fn, ok := m.obj.FunctionAt(e.Addr); ok {
				row.Function = fn.Name
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// fileAndLine reads FILE:LINE, LINE, +N and -N.
func (s *Session) fileAndLine(location string) (file string, line int, ok bool) {
	if location != "" && (location[0] == '+' || location[0] == '-' || isDigits(location)) {
		file, line, err := s.lineNumber(location)
		return file, line, err == nil
	}
	file, rest, cut := cutFile(location)
	line, err := strconv.Atoi(rest)
	return file, line, cut && err == nil
}

// UnitAt is what debug information says of how the code of the selected frame was
// compiled, or that of main.
func (s *Session) UnitAt() (unit symbols.UnitInfo, module string, ok bool) {
	var at addr.Run
	if f, err := s.SelectedFrame(); err == nil {
		at = f.Code.Lookup()
	} else if main := s.mainPlaces(); len(main) > 0 {
		at = main[0].Addr
	} else {
		return unit, "", false
	}
	for _, m := range s.objects() {
		if !s.covers(m, at) {
			continue
		}
		if unit, ok = m.obj.UnitInfoAt(at.File(m.bias)); ok {
			return unit, m.name, true
		}
	}
	return unit, "", false
}

// GlobalInfo is a row of `info types` and `info variables`.
type GlobalInfo struct {
	symbols.Global
	Addr   addr.Run // 0 unknown
	Module string
}

// Types are the types whose name matches, by module and name.
func (s *Session) Types(re *regexp.Regexp) ([]GlobalInfo, error) {
	return s.globals(func(o *symbols.Object) []symbols.Global { return o.MatchTypes(re, s.reading.GivenUp) })
}

// Variables are the variables outside of functions whose name matches.
func (s *Session) Variables(re *regexp.Regexp) ([]GlobalInfo, error) {
	return s.globals(func(o *symbols.Object) []symbols.Global { return o.MatchVariables(re, s.reading.GivenUp) })
}

func (s *Session) globals(of func(*symbols.Object) []symbols.Global) ([]GlobalInfo, error) {
	objs := s.objects()
	if len(objs) == 0 {
		return nil, s.noObjects()
	}
	var out []GlobalInfo
	for _, m := range objs {
		if s.reading.GivenUp() {
			break
		}
		for _, g := range of(m.obj) {
			row := GlobalInfo{Global: g, Module: m.name}
			if g.Addr != 0 {
				row.Addr = g.Addr.Run(m.bias)
			}
			out = append(out, row)
		}
	}
	return out, nil
}

// LineCost is what the recorded allocations of one source line come to.
type LineCost struct {
	Bytes uint64 // asked for
	Count uint64
}

// LineCosts are the recorded allocations by line of a source file, as debug
// information names it. An allocation counts for the innermost line of the user's
// code, and for each line of that call's inlined functions, but once for each line.
func (s *Session) LineCosts(file string) (map[int]LineCost, error) {
	src, _, err := s.countedEvents()
	if err != nil {
		return nil, err
	}
	type stack struct {
		LineCost
		seq uint64
	}
	stacks := map[capture.StackID]*stack{}
	for e := range src.Events(0) {
		if e.Stack == 0 || !e.Allocates() {
			continue
		}
		st := stacks[e.Stack]
		if st == nil {
			st = &stack{seq: e.Seq}
			stacks[e.Stack] = st
		}
		st.Bytes += e.Size
		st.Count++
	}
	costs := map[int]LineCost{}
	for _, id := range slices.Sorted(maps.Keys(stacks)) { // in the file's order, as countFrames does
		if s.reading.GivenUp() {
			break
		}
		st := stacks[id]
		frames := s.sourceStack(src, id, st.seq).Frames
		if len(frames) == 0 {
			continue
		}
		own := frames[s.UserFrame(frames)]
		var lines []int
		for _, f := range frames {
			if f.CFA == own.CFA && f.File == file && f.Line > 0 && !slices.Contains(lines, f.Line) {
				lines = append(lines, f.Line)
			}
		}
		for _, n := range lines {
			c := costs[n]
			costs[n] = LineCost{c.Bytes + st.Bytes, c.Count + st.Count}
		}
	}
	return costs, nil
}

// FindSources are the source files that a name as typed may mean, those of the
// selected frame's directory first.
func (s *Session) FindSources(name string) ([]string, error) {
	files, err := s.SourceFiles()
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f string) bool { return !sameFile(f, name) })
	here, _ := s.DefaultLine()
	slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(common(b, here), common(a, here)) })
	return files, nil
}

// common counts the leading elements that two paths share.
func common(a, b string) int {
	n := 0
	bs := strings.Split(b, "/")
	for i, part := range strings.Split(a, "/") {
		if i >= len(bs) || bs[i] != part {
			break
		}
		n++
	}
	return n
}
