package data

import (
	"slices"

	"hdb/console/screen"
	"hdb/internal/units"
)

// A codeListing prints the instructions of a disassembly, with their source lines if
// those are wanted.
type codeListing struct {
	d              *disassembly
	symbols, bytes int               // widths
	coded          map[codeLine]bool // lines that instructions shown belong to
	failed         map[string]bool   // sources that could not be read
}

// codeLine is a line of a source file.
type codeLine struct {
	file string
	line int
}

func newListingOfCode(d *disassembly) *codeListing {
	l := &codeListing{d: d, coded: map[codeLine]bool{}, failed: map[string]bool{}}
	for _, inst := range d.list {
		l.symbols, l.bytes = max(l.symbols, len(inst.symbol)), max(l.bytes, 3*len(inst.Code)-1)
		l.coded[codeLine{inst.file, inst.line}] = true
	}
	return l
}

// printPart prints the instructions of a part in the order of their addresses, a line
// before those that belong to it. As in gdb, lines without code are shown with the line
// that follows them, but only where the line shown last comes before them.
func (l *codeListing) printPart(o *screen.Output, part int) {
	var last codeLine
	for i := range l.d.list {
		inst := &l.d.list[i]
		if inst.part != part {
			continue
		}
		here := codeLine{inst.file, inst.line}
		if l.d.source && here.line > 0 && here != last {
			first := here.line
			switch {
			case here.file == last.file && here.line > last.line+1:
				for first-1 > last.line && !l.coded[codeLine{here.file, first - 1}] {
					first--
				}
			case last.line == 0 && l.d.whole:
				first = l.opening(here)
			}
			if last.line > 0 {
				o.Printf("\n")
			}
			if here.file != last.file {
				o.Line(screen.File(screen.ShortPath(here.file)), screen.Plain(":"))
			}
			l.printLines(o, here.file, first, here.line)
			last = here
		}
		l.printInstruction(o, inst)
	}
}

// opening is the line that a function begins with, if nothing between it and the line of
// its first instruction has code of its own.
func (l *codeListing) opening(here codeLine) int {
	begin := codeLine{l.d.function.File, l.d.function.Line}
	if begin.file != here.file || begin.line <= 0 || begin.line >= here.line {
		return here.line
	}
	for n := begin.line + 1; n < here.line; n++ {
		if l.coded[codeLine{here.file, n}] {
			return here.line
		}
	}
	return begin.line
}

// printByLine prints all instructions of a line together, the lines in order.
func (l *codeListing) printByLine(o *screen.Output) {
	lines := []codeLine{}
	of := map[codeLine][]*disassembled{}
	for i := range l.d.list {
		inst := &l.d.list[i]
		here := codeLine{inst.file, inst.line}
		if of[here] == nil {
			lines = append(lines, here)
		}
		of[here] = append(of[here], inst)
	}
	files := map[string]int{} // as they come
	for _, n := range lines {
		if _, ok := files[n.file]; !ok {
			files[n.file] = len(files)
		}
	}
	slices.SortStableFunc(lines, func(a, b codeLine) int {
		if a.file != b.file {
			return files[a.file] - files[b.file]
		}
		return a.line - b.line
	})
	file := ""
	for _, n := range lines {
		if n.file != file {
			o.Line(screen.File(screen.ShortPath(n.file)), screen.Plain(":"))
			file = n.file
		}
		if n.line > 0 {
			l.printLines(o, n.file, n.line, n.line)
		}
		for _, inst := range of[n] {
			l.printInstruction(o, inst)
		}
		o.Printf("\n")
	}
}

// printLines prints source lines as list does; a missing source is reported once.
func (l *codeListing) printLines(o *screen.Output, file string, first, last int) {
	current := 0
	if f, err := l.d.c.Session.Selection.Frame(); err == nil && f.File == file {
		current = f.Line
	}
	w, err := l.d.c.Source.Window(file, "", first, last, current)
	if err == nil {
		w.Print(o, l.d.c.Set.Count("tab-width"))
		return
	}
	if !l.failed[file] {
		l.failed[file] = true
		o.Line(screen.Guess(err.Error()))
	}
	o.Line(screen.Guess("line " + units.Grouped(uint64(last))))
}
