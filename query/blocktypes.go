package query

import (
	"hdb/capture"
	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/values"
	"hdb/values/blocktype"
)

// BlockTypes describes which types recorded blocks are: by the code of the stacks that allocated them, and
// where the process is there by what memory has at their beginning. What was found of a stack is kept.
type BlockTypes struct {
	Program *values.Program
	// Object is the file of a code address as of an event, nil if it is not there.
	Object func(c addr.Code, seq uint64) (*symbols.Object, addr.Bias)
	// GoTypeOf is the type of what a Go runtime has allocated for code at an address, as of an event.
	GoTypeOf    func(c addr.Code, seq uint64, of capture.GoAux) (capture.GoType, bool)
	Attribution *Attribution
	// Memory tells that the Program's memory is what it was at the moment that is asked about.
	Memory func() bool

	src    capture.Source // that what is kept is of
	finder blocktype.Finder
	sites  map[allocSite]*blocktype.Site
	known  map[blocksOf]*blocktype.Type
}

// allocSite is a stack and what allocated with it.
type allocSite struct {
	stack capture.StackID
	fn    uint16
}

// blocksOf are blocks of one size of a site.
type blocksOf struct {
	allocSite
	size uint64
}

// maxKnown bounds what is kept.
const maxKnown = 1 << 18

// Declared is the type of a block by the code that allocated it, nil if it is not known. Blocks of one
// stack and size have the same.
func (t *BlockTypes) Declared(src capture.Source, b *capture.Held) *blocktype.Type {
	if b.Stack == 0 {
		return nil
	}
	if typ, ok := t.ofGo(src, b); ok {
		return typ
	}
	t.of(src)
	key := blocksOf{allocSite{b.Stack, b.Func}, b.Size}
	if typ, ok := t.known[key]; ok {
		return typ
	}
	if len(t.known) >= maxKnown {
		clear(t.known)
	}
	in := blocktype.Block{Size: b.Size}
	site := t.site(src, key.allocSite, b.Seq)
	if site.Counts() {
		if e, ok := src.Event(b.Seq); ok {
			in.Count = e.Aux
		}
	}
	typ := site.Fit(in)
	t.known[key] = typ
	return typ
}

// Of is the type of a block that is live, nil if it is not known: the type of the object that it
// has, if memory tells, else Declared.
func (t *BlockTypes) Of(src capture.Source, b *capture.Held) *blocktype.Type {
	if typ, ok := t.ofGo(src, b); ok {
		return typ // no memory knows better
	}
	typ := t.Declared(src, b)
	if !t.readable() {
		return typ
	}
	return t.finder.Refined(typ, addr.Run(b.Addr), b.Size, true)
}

// OfMemory is the type of a block of which no event is known, nil if it is not known. size is what is usable
// of it.
func (t *BlockTypes) OfMemory(at addr.Run, size uint64) *blocktype.Type {
	if !t.readable() {
		return nil
	}
	t.finder.Program = t.Program
	return t.finder.Refined(nil, at, size, false)
}

// NoDebug tells that the code that allocated a block has no debug information that could tell its type.
func (t *BlockTypes) NoDebug(src capture.Source, b *capture.Held) bool {
	t.of(src)
	return b.Stack != 0 && t.site(src, allocSite{b.Stack, b.Func}, b.Seq).NoDebug
}

func (t *BlockTypes) readable() bool { return t.Memory != nil && t.Memory() }

// of forgets what was kept of another recording.
func (t *BlockTypes) of(src capture.Source) {
	if t.src == src && t.sites != nil {
		return
	}
	t.Forget()
	t.src = src
}

// Forget drops what is kept: there are other files than before.
func (t *BlockTypes) Forget() {
	t.src, t.sites, t.known = nil, map[allocSite]*blocktype.Site{}, map[blocksOf]*blocktype.Type{}
	t.finder = blocktype.Finder{Program: t.Program, Wrapper: t.Attribution.isWrapper}
}

// site is what is known of a stack.
func (t *BlockTypes) site(src capture.Source, of allocSite, seq uint64) *blocktype.Site {
	if s := t.sites[of]; s != nil {
		return s
	}
	rec := src.Stack(of.stack)
	var frames []blocktype.Frame
	for i := range rec.PCs[:min(len(rec.PCs), blocktype.MaxFrames)] {
		if capture.IsInterpreted(rec.PCs[i]) {
			break
		}
		code := rec.Code(i)
		obj, bias := t.Object(code, seq)
		frames = append(frames, blocktype.Frame{Module: values.Module{Obj: obj, Bias: bias}, PC: code})
	}
	name := ""
	if fns := src.Functions(); int(of.fn) < len(fns) {
		name = fns[of.fn]
	}
	s := t.finder.Site(name, frames)
	if len(t.sites) >= maxKnown {
		clear(t.sites)
	}
	t.sites[of] = s
	return s
}
