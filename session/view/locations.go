package view

import (
	"fmt"
	"strconv"
	"strings"

	"hdb/breakpoints"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/session/target"
)

// Locations finds the places in the code, and the lines in source files, that a user
// types.
type Locations struct {
	Target *target.Target
	sel    *Selection // whose file and line are the default
	Mem    *Memory
}

// NewLocations are the places of a target's code; what is selected gives the default file and line.
func NewLocations(t *target.Target, sel *Selection, mem *Memory) *Locations {
	return &Locations{t, sel, mem}
}

// Places resolves a location as typed: a function, FILE:LINE, FILE:FUNCTION, LINE, +N, -N, *ADDRESS
// or /RE/. None is not an error: a library may yet bring it.
func (l *Locations) Places(text string) ([]breakpoints.Place, error) {
	text = breakpoints.PlainLocation(text)
	switch {
	case text == "":
		return l.herePlace()
	case text[0] == '*':
		a, err := l.Mem.Address(text[1:])
		if err != nil {
			return nil, err
		}
		return []breakpoints.Place{breakpoints.Place(l.Target.Names.Places.At(a))}, nil
	case len(text) > 2 && text[0] == '/' && text[len(text)-1] == '/':
		found, err := l.Target.Names.Places.Matching(text[1 : len(text)-1])
		return Places(found), err
	case text[0] == '+' || text[0] == '-' || IsDigits(text):
		file, line, err := l.LineNumber(text)
		if err != nil {
			return nil, err
		}
		return Places(l.Target.Names.Places.OfLine(file, line)), nil
	}
	if file, rest, ok := names.CutFile(text); ok {
		if line, err := strconv.Atoi(rest); err == nil {
			return Places(l.Target.Names.Places.OfLine(file, line)), nil
		}
		return Places(l.Target.Names.Places.InFile(file, rest)), nil
	}
	return Places(l.Target.Names.Places.OfFunction(text)), nil
}

// IsDigits reports whether a text is a number in decimal digits.
func IsDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// herePlace is the selected frame's PC.
func (l *Locations) herePlace() ([]breakpoints.Place, error) {
	f, err := l.sel.LiveFrame()
	if err != nil {
		return nil, err
	}
	return []breakpoints.Place{breakpoints.Place(l.Target.Names.Places.At(f.Code.Addr()))}, nil
}

// LineNumber reads LINE, +N and -N, which count from the selected frame's line.
func (l *Locations) LineNumber(text string) (file string, line int, err error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return "", 0, fmt.Errorf("line %q: not a number", text)
	}
	file, here := l.DefaultLine()
	if file == "" {
		return "", 0, fmt.Errorf("line %s: no default source file: use FILE:LINE", text)
	}
	if text[0] == '+' || text[0] == '-' {
		n += here
	}
	return file, n, nil
}

// DefaultLine is what line numbers without a file refer to: the selected frame's
// file and line, or those of main.
func (l *Locations) DefaultLine() (file string, line int) {
	if f, err := l.sel.Frame(); err == nil && f.File != "" {
		return f.File, f.Line
	}
	if l.Target.Saved == nil {
		for _, p := range l.Target.Names.Places.Main() {
			if p.File != "" {
				return p.File, p.Line
			}
		}
	}
	return "", 0
}

// Places are places of code in the form of package breakpoints.
func Places(found []names.Place) []breakpoints.Place {
	var out []breakpoints.Place
	for _, p := range found {
		out = append(out, breakpoints.Place(p))
	}
	return out
}

// entries are the entry points of FUNCTION or FILE:FUNCTION; ok is false for other locations.
func (l *Locations) entries(location string) (at []addr.Run, ok bool) {
	name := breakpoints.PlainLocation(location)
	if name == "" || strings.ContainsRune("*/+-", rune(name[0])) || IsDigits(name) {
		return nil, false
	}
	file, rest, inFile := names.CutFile(name)
	if inFile {
		name = rest
	}
	for _, p := range l.Target.Names.Places.EntriesOf(name) {
		if !inFile || names.SameFile(p.File, file) {
			at = append(at, p.Addr)
		}
	}
	return at, true
}

// Lines tells which code a location has: of a function the code of the line it begins with. "" is
// the selected frame's.
func (l *Locations) Lines(location string) ([]names.LineInfo, error) {
	var at []addr.Run
	if location == "" {
		f, err := l.sel.Frame()
		if err != nil {
			return nil, err
		}
		at = append(at, f.Code.Lookup())
	} else if file, line, ok := l.fileAndLine(location); ok {
		return l.Target.Names.Symbols.Lines(file, line), nil
	} else if entries, ok := l.entries(location); ok {
		at = entries
	} else {
		places, err := l.Places(location)
		if err != nil {
			return nil, err
		}
		for _, p := range places {
			at = append(at, p.Addr)
		}
	}
	var rows []names.LineInfo
	for _, a := range at {
		rows = append(rows, l.Target.Names.Symbols.LineAt(a))
	}
	return rows, nil
}

// PlaceText is a place in words: "load at index.cc:188 (0x55555555513a)".
func PlaceText(p breakpoints.Place) string {
	var b strings.Builder
	if p.Function != "" {
		b.WriteString(p.Function + " ")
	}
	if p.File != "" {
		fmt.Fprintf(&b, "at %s:%d ", p.File, p.Line)
	}
	fmt.Fprintf(&b, "(%v)", p.Addr)
	return b.String()
}
