package view

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hdb/breakpoints"
	"hdb/internal/addr"
	"hdb/internal/spelling"
	"hdb/internal/units"
	"hdb/names"
	"hdb/query"
	"hdb/symbols"
)

// fileAndLine reads FILE:LINE, LINE, +N and -N.
func (l *Locations) fileAndLine(location string) (file string, line int, ok bool) {
	location = breakpoints.PlainLocation(location)
	if location != "" && (location[0] == '+' || location[0] == '-' || IsDigits(location)) {
		file, line, err := l.LineNumber(location)
		return file, line, err == nil
	}
	file, rest, cut := names.CutFile(location)
	line, err := strconv.Atoi(rest)
	return file, line, cut && err == nil
}

// UnitAt is what debug information says of how the code of the selected frame was compiled, or
// main's.
func (l *Locations) UnitAt() (unit symbols.UnitInfo, module string, ok bool) {
	var at addr.Run
	if f, err := l.sel.Frame(); err == nil {
		at = f.Code.Lookup()
	} else if main := l.Target.Names.Places.Main(); len(main) > 0 {
		at = main[0].Addr
	} else {
		return unit, "", false
	}
	return l.Target.Names.Symbols.UnitAt(at)
}

// FindSources are the source files that a name as typed may mean, those of the
// selected frame's directory first.
func (l *Locations) FindSources(name string) ([]string, error) {
	files, err := l.Target.Names.Symbols.SourceFiles()
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

// Meant is the function of the program, or the word, that was most likely meant by a name
// that is none of them, "" if none is near. Of a qualified name the last part may be wrong, and the name may be half written.
func (l *Locations) Meant(name string, words ...string) string {
	base, full := l.programFunctions()
	if near := spelling.Nearest(name, slices.Concat(words, base, full)); near != "" {
		return near
	}
	scope := ""
	if i := strings.LastIndex(name, "::"); i >= 0 {
		scope, name = name[:i+2], name[i+2:]
	}
	if near := spelling.Nearest(name, base); near != "" && near != name {
		return scope + near
	}
	const least = 3 // letters of a part that tells something
	want := strings.ToLower(name)
	half := func(list []string) string {
		for _, whole := range list {
			if low := strings.ToLower(whole); len(want) >= least && (strings.HasPrefix(low, want) || strings.Contains(low, ":"+want)) {
				return whole
			}
		}
		return ""
	}
	return cmp.Or(half(base), half(full))
}

// WhyNoLine says why FILE:LINE has no code, as far as that is known: that the file is not as
// long, or that no debug information has such a file.
func (l *Locations) WhyNoLine(location string) string {
	file, line, ok := l.fileAndLine(location)
	files, err := l.Target.Names.Symbols.SourceFiles()
	if !ok || err != nil || len(files) == 0 {
		return ""
	}
	at := slices.IndexFunc(files, func(f string) bool { return names.SameFile(f, file) })
	if at < 0 {
		if _, rest, ok := strings.Cut(file, " "); ok && slices.ContainsFunc(files, func(f string) bool { return names.SameFile(f, rest) }) {
			return fmt.Sprintf("breakpoints have numbers, and no names as in delve: %s:%d", rest, line)
		}
		for i, f := range files {
			files[i] = filepath.Base(f)
		}
		if near := spelling.Nearest(filepath.Base(file), files); near != "" {
			return "did you mean " + near + "?"
		}
		return "no debug information has such a file"
	}
	if src, err := l.Target.Names.Source(files[at]); err == nil && src.Whole() && line > src.Last() {
		return fmt.Sprintf("%s has %s", filepath.Base(file), units.Count(src.Last(), "line"))
	}
	return "no code there or after it"
}

// programFunctions are the names of the program's own functions, without namespaces and
// parameters and without parameters alone; none of a program that is too large to look through
// for a hint.
func (l *Locations) programFunctions() (base, full []string) {
	objs := l.Target.Names.Images()
	if len(objs) == 0 {
		return nil, nil
	}
	size := int64(0)
	for _, path := range []string{objs[0].Object.File.Path(), objs[0].Object.File.Header().DebugFile} {
		if st, err := os.Stat(path); err == nil {
			size += st.Size()
		}
	}
	if size > maxListed {
		return nil, nil
	}
	for _, fn := range objs[0].Object.MatchFunctions(regexp.MustCompile(""), l.Target.Reading.GivenUp) {
		base = append(base, query.BaseName(fn.Name))
		if name := query.WithoutParameters(fn.Name); strings.Contains(name, "::") {
			full = append(full, name)
		}
	}
	slices.Sort(base)
	slices.Sort(full)
	return slices.Compact(base), slices.Compact(full)
}
