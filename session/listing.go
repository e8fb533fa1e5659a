package session

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"hdb/internal/addr"
	"hdb/names"
	"hdb/symbols"
)

// fileAndLine reads FILE:LINE, LINE, +N and -N.
func (s *Session) fileAndLine(location string) (file string, line int, ok bool) {
	if location != "" && (location[0] == '+' || location[0] == '-' || isDigits(location)) {
		file, line, err := s.lineNumber(location)
		return file, line, err == nil
	}
	file, rest, cut := names.CutFile(location)
	line, err := strconv.Atoi(rest)
	return file, line, cut && err == nil
}

// UnitAt is what debug information says of how the code of the selected frame was
// compiled, or that of main.
func (s *Session) UnitAt() (unit symbols.UnitInfo, module string, ok bool) {
	var at addr.Run
	if f, err := s.SelectedFrame(); err == nil {
		at = f.Code.Lookup()
	} else if main := s.names.Places.Main(); len(main) > 0 {
		at = main[0].Addr
	} else {
		return unit, "", false
	}
	return s.names.Symbols.UnitAt(at)
}

// FindSources are the source files that a name as typed may mean, those of the
// selected frame's directory first.
func (s *Session) FindSources(name string) ([]string, error) {
	files, err := s.names.Symbols.SourceFiles()
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f string) bool { return !names.SameFile(f, name) })
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
