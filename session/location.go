package session

import (
	"fmt"
	"strconv"
	"strings"

	"hdb/breakpoints"
	"hdb/names"
)

// Places resolves a location as typed: a function, FILE:LINE, FILE:FUNCTION,
// LINE, +N, -N, *ADDRESS or /RE/. None is no error: a library may yet bring it.
func (s *Session) Places(text string) ([]breakpoints.Place, error) {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return s.herePlace()
	case text[0] == '*':
		a, err := s.Address(text[1:])
		if err != nil {
			return nil, err
		}
		return []breakpoints.Place{breakpoints.Place(s.names.Places.At(a))}, nil
	case len(text) > 2 && text[0] == '/' && text[len(text)-1] == '/':
		found, err := s.names.Places.Matching(text[1 : len(text)-1])
		return places(found), err
	case text[0] == '+' || text[0] == '-' || isDigits(text):
		file, line, err := s.lineNumber(text)
		if err != nil {
			return nil, err
		}
		return places(s.names.Places.OfLine(file, line)), nil
	}
	if file, rest, ok := names.CutFile(text); ok {
		if line, err := strconv.Atoi(rest); err == nil {
			return places(s.names.Places.OfLine(file, line)), nil
		}
		return places(s.names.Places.InFile(file, rest)), nil
	}
	return places(s.names.Places.OfFunction(text)), nil
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// herePlace is the selected frame's PC.
func (s *Session) herePlace() ([]breakpoints.Place, error) {
	f, err := s.liveFrame()
	if err != nil {
		return nil, err
	}
	return []breakpoints.Place{breakpoints.Place(s.names.Places.At(f.Code.Addr()))}, nil
}

// lineNumber reads LINE, +N and -N, which count from the selected frame's line.
func (s *Session) lineNumber(text string) (file string, line int, err error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return "", 0, fmt.Errorf("line %q: not a number", text)
	}
	file, here := s.DefaultLine()
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
func (s *Session) DefaultLine() (file string, line int) {
	if f, err := s.SelectedFrame(); err == nil && f.File != "" {
		return f.File, f.Line
	}
	if s.saved == nil {
		for _, p := range s.names.Places.Main() {
			if p.File != "" {
				return p.File, p.Line
			}
		}
	}
	return "", 0
}

// places are places of code as breakpoints have them.
func places(found []names.Place) []breakpoints.Place {
	var out []breakpoints.Place
	for _, p := range found {
		out = append(out, breakpoints.Place(p))
	}
	return out
}
