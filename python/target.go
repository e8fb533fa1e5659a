package python

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hdb/internal/addr"
	"hdb/python/lines"
)

// A Target is where a breakpoint of Python is asked for: a line of a file or module, or a
// function.
type Target struct {
	File     string // or a module, as app, pkg.app; "" any
	Line     int    // 0: a function
	Function string // as in the source: grow, Store.grow
}

// ParseTarget reads FILE:LINE, MODULE:LINE, FUNCTION, CLASS.METHOD or FILE:FUNCTION. file is the
// file of a line given alone.
func ParseTarget(text, file string) (Target, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return Target{}, errors.New("a place must follow: FILE:LINE, MODULE:LINE, FUNCTION or CLASS.METHOD")
	}
	t := Target{File: file}
	last := text
	if i := strings.LastIndexByte(text, ':'); i >= 0 {
		t.File, last = text[:i], text[i+1:]
	}
	if n, err := strconv.Atoi(last); err == nil {
		if t.Line = n; n <= 0 {
			return Target{}, fmt.Errorf("line %s: they begin at 1", last)
		}
		if t.File == "" {
			return Target{}, fmt.Errorf("%s: the file of the line is not known: FILE:%s", text, last)
		}
		return t, nil
	}
	if last == text {
		t.File = "" // any
	}
	for i, part := range strings.Split(last, ".") {
		if !isIdentifier(part) && part != "<locals>" && !(i == 0 && part == "<module>") && part != "<lambda>" {
			return Target{}, fmt.Errorf("%s: FILE:LINE, MODULE:LINE, FUNCTION or CLASS.METHOD expected", text)
		}
	}
	t.Function = last
	return t, nil
}

func isIdentifier(s string) bool {
	for i, r := range s {
		if r != '_' && r < 0x80 && !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return s != ""
}

// InFile reports whether a code object's file is the one that is asked for: by its name, the end of
// its path, or as a module.
func (t Target) InFile(file string) bool {
	if t.File == "" || file == t.File {
		return true
	}
	ends := func(suffix string) bool { return file == suffix || strings.HasSuffix(file, "/"+suffix) }
	if ends(strings.TrimPrefix(t.File, "./")) {
		return true
	}
	if strings.HasSuffix(t.File, ".py") || strings.Contains(t.File, "/") {
		return false
	}
	module := strings.ReplaceAll(t.File, ".", "/")
	return ends(module+".py") || ends(module+"/__init__.py") || file == "<frozen "+t.File+">"
}

// isFunction reports whether a code object is the code of the function that is asked for. Its name may have
// the module's in front. library tells files of Python's standard library: their functions are meant only
// where the file or module is named.
func (t Target) isFunction(file, qualname string, library func(file string) bool) bool {
	if qualname == t.Function || strings.HasSuffix(qualname, "."+t.Function) {
		return t.File != "" || !library(file)
	}
	for i, c := range t.Function {
		if c == '.' && t.File == "" && qualname == t.Function[i+1:] && (Target{File: t.Function[:i]}).InFile(file) {
			return true
		}
	}
	return false
}

// A Place is an instruction where a breakpoint stops.
type Place struct {
	Body     *Body
	Qualname string
	Line     int
	Start    lines.Start
}

// Addr is where the instruction lies.
func (p Place) Addr() addr.Run { return p.Body.Start + addr.Run(p.Start.Offset) }

// maxPlaces bounds those of one target.
const maxPlaces = 64

// Places are those of a target in code objects. Where none has the line, they are those of
// the next one in these files that has code.
func (b *Bodies) Places(t Target, in []Named, library func(file string) bool) (all []Place) {
	files := map[addr.Run]bool{} // by the text's address
	texts := map[addr.Run]string{}
	textAt := func(at addr.Run) string {
		s, ok := texts[at]
		if !ok {
			s, _ = b.in.mem.Text(at) // what is no text is no name
			texts[at] = s
		}
		return s
	}
	l := &b.in.layout.Code
	var bodies []Place
	for _, n := range in {
		c, err := b.in.mem.Read(n.At, l.Size)
		if err != nil {
			continue
		}
		file := pointerIn(c, l.File)
		inFile, ok := files[file]
		if !ok {
			inFile = t.InFile(textAt(file))
			files[file] = inFile
		}
		if !inFile {
			continue
		}
		name := n.Qualname
		if l.Qualname != 0 {
			name = textAt(pointerIn(c, l.Qualname))
		} else if name == "" {
			name = textAt(pointerIn(c, l.Name))
		}
		if t.Line == 0 && !t.isFunction(textAt(file), name, library) {
			continue
		}
		body, err := b.At(n.At)
		if err != nil {
			continue
		}
		bodies = append(bodies, Place{Body: body, Qualname: name})
	}
	line := t.Line
	if line != 0 {
		best := 0
		for _, p := range bodies {
			if next, ok := p.Body.Next(line); ok && (best == 0 || next < best) {
				best = next
			}
		}
		line = best
	}
	for _, p := range bodies {
		if t.Line == 0 {
			at := p.Body.First()
			p.Start, p.Line = lines.Start{Offset: at, Run: at}, p.Body.Line(at)
			all = append(all, p)
			continue
		}
		for _, s := range p.Body.Starts(line) {
			p.Start, p.Line = s, line
			all = append(all, p)
		}
	}
	return all[:min(len(all), maxPlaces)]
}

// File is the file of the code object at an address, "" if it cannot be read.
func (b *Bodies) File(at addr.Run) string {
	s, _ := b.in.text(at, b.in.layout.Code.File) // what is no code object has none
	return s
}
