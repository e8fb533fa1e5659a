package cython

import "slices"

// Lines says which line of which source each line of a generated C file belongs to. The
// zero value knows none.
type Lines struct {
	files []string
	lines []lineOf // by the line of C
}

type lineOf struct {
	file  int32
	line  int32 // 0: none
	run   int32 // of lines of C in one piece: its first
	again bool  // Cython's own code behind the statements inside of the line's
}

// A Line is what a line of C belongs to.
type Line struct {
	File  string
	Line  int
	First int  // the line of C with which its piece begins
	Again bool // nothing of the statement: it continues behind the statements inside of it, or the function ends
}

// At is what line c of the C file belongs to; false if nothing says so.
func (l *Lines) At(c int) (Line, bool) {
	if c < 0 || c >= len(l.lines) || l.lines[c].line == 0 {
		return Line{}, false
	}
	x := l.lines[c]
	return Line{l.files[x.file], int(x.line), int(x.run), x.again}, true
}

// Len is behind the last line of C that is known.
func (l *Lines) Len() int { return len(l.lines) }

// set notes a line of C; false if there are too many.
func (l *Lines) set(c int, file string, line int) bool {
	if c >= maxCLine || len(l.files) > maxEntries {
		return false
	}
	if grow := c + 1 - len(l.lines); grow > 0 {
		l.lines = append(l.lines, make([]lineOf, grow)...)
	}
	n := len(l.files) - 1
	if n < 0 || l.files[n] != file {
		if n = slices.Index(l.files, file); n < 0 {
			n = len(l.files)
			l.files = append(l.files, file)
		}
	}
	l.lines[c] = lineOf{file: int32(n), line: int32(line), run: int32(c)}
	return true
}

// joined makes runs of the lines of C that follow one another, once all are known.
func (l *Lines) joined() {
	for c := 1; c < len(l.lines); c++ {
		if x, prev := &l.lines[c], l.lines[c-1]; x.line != 0 && x.line == prev.line && x.file == prev.file {
			x.run = prev.run
		}
	}
}
