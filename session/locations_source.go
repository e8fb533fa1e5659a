package session

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hdb/internal/addr"
	"hdb/names"
	"hdb/query"
	"hdb/symbols"
)

// fileAndLine reads FILE:LINE, LINE, +N and -N.
func (l *Locations) fileAndLine(location string) (file string, line int, ok bool) {
	if location != "" && (location[0] == '+' || location[0] == '-' || isDigits(location)) {
		file, line, err := l.lineNumber(location)
		return file, line, err == nil
	}
	file, rest, cut := names.CutFile(location)
	line, err := strconv.Atoi(rest)
	return file, line, cut && err == nil
}

// UnitAt is what debug information says of how the code of the selected frame was
// compiled, or that of main.
func (l *Locations) UnitAt() (unit symbols.UnitInfo, module string, ok bool) {
	var at addr.Run
	if f, err := l.sel.Frame(); err == nil {
		at = f.Code.Lookup()
	} else if main := l.names.Places.Main(); len(main) > 0 {
		at = main[0].Addr
	} else {
		return unit, "", false
	}
	return l.names.Symbols.UnitAt(at)
}

// FindSources are the source files that a name as typed may mean, those of the
// selected frame's directory first.
func (l *Locations) FindSources(name string) ([]string, error) {
	files, err := l.names.Symbols.SourceFiles()
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f string) bool { return !names.SameFile(f, name) })
	here, _ := l.DefaultLine()
	slices.SortStableFunc(files, func(a, b string) int { return cmp.Compare(sharedElements(b, here), sharedElements(a, here)) })
	return files, nil
}

// sharedElements counts the leading elements that two paths share.
func sharedElements(a, b string) int {
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

// maxListed is the length in bytes of a program and its debug file from which its
// functions are not listed for the sake of a suggestion.
const maxListed = 64 << 20

// ProgramFunctions are the names, without namespaces and parameters, of the program's
// own functions; none of a program that is too large to look through for a hint.
func (l *Locations) ProgramFunctions() []string {
	objs := l.names.Images()
	if len(objs) == 0 {
		return nil
	}
	size := int64(0)
	for _, path := range []string{objs[0].Object.File.Path(), objs[0].Object.File.Header().DebugFile} {
		if st, err := os.Stat(path); err == nil {
			size += st.Size()
		}
	}
	if size > maxListed {
		return nil
	}
	var names []string
	for _, fn := range objs[0].Object.MatchFunctions(regexp.MustCompile(""), l.reading.GivenUp) {
		names = append(names, query.BaseName(fn.Name))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
