package session

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hdb/capture"
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
	} else if main := s.names.MainPlaces(); len(main) > 0 {
		at = main[0].Addr
	} else {
		return unit, "", false
	}
	return s.names.UnitAt(at)
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
		frames := s.names.RecordedStack(src, id, st.seq).Frames
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
	files, err := s.names.SourceFiles()
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
