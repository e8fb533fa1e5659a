package symbols

import (
	"hdb/internal/addr"
	"hdb/symbols/dwarf/line"
	"hdb/symbols/dwarf/scope"
	"hdb/symbols/elf"
)

// Lookup names the function at a and those it was inlined into: innermost first,
// the function itself last. nil when nothing is known of a. For a return address
// ask for the byte before (addr.Code.Lookup).
func (o *Object) Lookup(a addr.File) []Frame {
	return o.kept.ask(keptKey{a, false}, func() []Frame { return o.lookup(nil, a) })
}

// LookupInto is Lookup for those who ask often: the frames are appended to dst, and
// where all tables are known nothing else is allocated.
func (o *Object) LookupInto(dst []Frame, a addr.File) []Frame {
	if o.File.cfg.Cache != nil {
		return append(dst, o.Lookup(a)...)
	}
	frames := dst
	elf.Guard(func() { frames = o.lookup(dst, a) })
	return frames
}

// LookupStatement is Lookup for the place where a thread is: the line is the statement's, which
// breakpoints and steps go by. The exact row of the line table may belong to an operand that the
// compiler moved ahead.
func (o *Object) LookupStatement(pc addr.File) []Frame {
	return o.kept.ask(keptKey{pc, true}, func() []Frame {
		frames := o.lookup(nil, pc)
		if len(frames) == 0 {
			return frames
		}
		if b, ok := o.Lines.block(uint64(pc)); ok && b.File == frames[0].File && b.Line != frames[0].Line {
			frames[0].Line, frames[0].Column, frames[0].Discriminator = b.Line, 0, 0
		}
		return frames
	})
}

func (o *Object) lookup(dst []Frame, a addr.File) []Frame {
	dw, _ := o.DWARF.read()
	return dw.lookup(dst, a, o.Symtab)
}

// symbolNames are what a file knows addresses besides DWARF.
type symbolNames interface {
	symbolAt(addr.File) (Sym, Provenance, bool)
	lookupSymbol(addr.File) []Frame
}

// lookup is LookupInto by DWARF, which may be nil, and where that is silent by the symbols.
func (dw *debugInfo) lookup(dst []Frame, a addr.File, o symbolNames) []Frame {
	if dw == nil {
		return append(dst, o.lookupSymbol(a)...)
	}
	unit := dw.unitAt(uint64(a))
	if unit < 0 {
		return append(dst, o.lookupSymbol(a)...)
	}
	file, row := dw.rowAt(unit, uint64(a))
	tree := dw.tree(unit)
	i := tree.FunctionOf(tree.At(uint64(a)))
	if i < 0 {
		frames := o.lookupSymbol(a)
		if frames == nil && row.Line != 0 {
			frames = []Frame{{}}
		}
		if frames != nil {
			frames[0].File, frames[0].Line, frames[0].Column = file, int(row.Line), int(row.Col)
			frames[0].Discriminator = int(row.Disc)
		}
		return append(dst, frames...)
	}
	lineNo, col := int(row.Line), int(row.Col)
	if dst == nil {
		dst = make([]Frame, 0, tree.Chain(i))
	}
	frames, first := dst, len(dst)
	for i >= 0 {
		n := &tree.Nodes[i]
		name := dw.nodeName(unit, i)
		f := Frame{
			Function: name.function, Entry: addr.File(n.Entry), File: file, Line: lineNo, Column: col,
			Inlined: n.Kind == scope.Inlined, Source: FromDWARF, Language: languageOf(name, tree.Unit),
		}
		if name.Linkage != name.function {
			f.Linkage = name.Linkage
		}
		if f.Function == "" { // made by the compiler and named only by the linker
			if s, from, ok := o.symbolAt(f.Entry); ok && !f.Inlined {
				f.Function, f.Linkage, f.Source = Demangle(s.Name), linkageOf(s.Name), from
			}
		}
		frames = append(frames, f)
		if !f.Inlined {
			break
		}
		file, lineNo, col = "", int(n.CallLine), int(n.CallCol)
		if n.CallFile != 0 || n.CallLine != 0 { // else nothing is said of the call, and 0 is no file
			file = dw.unitFile(unit, tree.Unit, n.CallFile)
		}
		i = tree.FunctionOf(n.Parent)
	}
	frames[first].Discriminator = int(row.Disc)
	return frames
}

// rowAt is the row of the line table of a unit at a, and its file.
func (d *debugInfo) rowAt(unit int, a uint64) (string, line.Row) {
	t := d.unitLines(unit)
	if t == nil {
		return "", line.Row{}
	}
	i, ok := t.At(a)
	if !ok {
		return "", line.Row{}
	}
	return t.File(t.Rows[i].File), t.Rows[i]
}

// symbolFrame is the frame of code that only a symbol names; nil when it is none.
func symbolFrame(s Sym, from Provenance, ok bool) []Frame {
	if !ok || !s.IsCode() {
		return nil
	}
	f := Frame{Function: Demangle(s.Name), Entry: s.Addr, Source: from}
	if f.Function != s.Name {
		f.Linkage = s.Name
	}
	return []Frame{f}
}

// linkageOf is a symbol's name where it differs from what users see.
func linkageOf(name string) string {
	if Demangle(name) == name {
		return ""
	}
	return name
}
