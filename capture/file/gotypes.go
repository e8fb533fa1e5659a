package file

import (
	"cmp"
	"math"
	"slices"

	"hdb/capture"
	"hdb/internal/addr"
)

// Events of a Go runtime tell the type of a block by where its descriptor is in a file that the capture
// may outlive. So the descriptors that events have are noted, and their names are kept: in a chunk in
// front of the events, where the recorder can ask the file, and at the latest when symbols are embedded.

const (
	maxTypeRefs  = 1 << 18  // that are noted; others are not kept
	maxTypes     = 1 << 18  // that are kept: a ref may be of several modules, one after the other
	maxTypeSeen  = 1 << 20  // pairs of a stack and a type that are remembered
	maxTypeBytes = 64 << 20 // of all names that are kept
)

// A typeKey is what GoType looks up: a module, counted from 1, and how many words behind its beginning
// the descriptor is.
type typeKey struct{ module, word uint32 }

// A typeRef is a type as events tell it: by the code that the block was allocated for, which is in the
// same module.
type typeRef struct {
	code addr.Code
	word uint32
}

func compareTypeRefs(a, b typeRef) int {
	return cmp.Or(cmp.Compare(a.code.Addr(), b.code.Addr()), cmp.Compare(a.word, b.word))
}

// typeRefs are the types that events have.
type typeRefs struct {
	all     map[typeRef]uint32  // and the value of modules when it was noted last
	seen    map[uint64]struct{} // stacks with types that are noted, since modules changed
	modules uint32              // counts the changes of modules
}

// changed notes that there may be other modules than before.
func (r *typeRefs) changed() {
	r.modules++
	clear(r.seen)
}

// note notes a type of a block that was allocated with a stack. It is false if that is known.
func (r *typeRefs) note(stack capture.StackID, word uint32, stackOf func(capture.StackID) capture.Stack) (typeRef, bool) {
	pair := uint64(stack)<<24 | uint64(word)
	if _, ok := r.seen[pair]; ok {
		return typeRef{}, false
	}
	if r.seen == nil || len(r.seen) >= maxTypeSeen {
		r.seen = map[uint64]struct{}{}
	}
	r.seen[pair] = struct{}{}
	s := stackOf(stack)
	if len(s.PCs) == 0 {
		return typeRef{}, false
	}
	ref := typeRef{s.Code(0), word}
	return ref, r.include(ref)
}

// include adds a type. It is false if it is there already since modules changed, or if there are too many.
func (r *typeRefs) include(ref typeRef) bool {
	if at, ok := r.all[ref]; ok && at == r.modules || !ok && len(r.all) >= maxTypeRefs {
		return false
	}
	if r.all == nil {
		r.all = map[typeRef]uint32{}
	}
	r.all[ref] = r.modules
	return true
}

// in are those whose code is where a module is mapped, by their code.
func (r *typeRefs) in(m *capture.Module) []typeRef {
	var refs []typeRef
	for ref := range r.all {
		if m.Covers(ref.code.Lookup()) {
			refs = append(refs, ref)
		}
	}
	slices.SortFunc(refs, compareTypeRefs)
	return refs
}

const (
	noteWordShift  = 40
	noteStackShift = 16

	_ = uint(1<<noteStackShift - eventsPerChunk)
	_ = uint(1<<(noteWordShift-noteStackShift) - eventsPerChunk - 1)
)

// noteOf is the note of an event that has an aux with another type than the last event of its stack in
// the chunk: from the top the type's word, the index of the stack, and the index of the event.
func noteOf(aux uint64, stack, index uint32) uint64 {
	return aux>>noteWordShift<<noteWordShift | uint64(stack)<<noteStackShift | uint64(index)
}

// otherType reports whether types differ that two values of aux may have.
func otherType(a, b uint64) bool { return (a^b)>>noteWordShift != 0 }

// notes calls each for the events of the chunk that were noted, with their function, number and stack.
func (c *eventEncoder) notes(each func(fn uint16, seq uint64, stack capture.StackID, word uint32)) {
	for _, n := range c.types {
		index, stack, word := n&(1<<noteStackShift-1), n>>noteStackShift&(1<<(noteWordShift-noteStackShift)-1), uint32(n>>noteWordShift)
		if word == 0 || stack == 0 {
			continue
		}
		seq := c.head.first + index
		if c.gapped {
			seq = c.seqs[index]
		}
		each(c.ops[c.opOf[index]].fn, seq, c.stacks[stack], word)
	}
}

// A typeWriter writes the names of the types that events have, each once.
type typeWriter struct {
	of     map[int]capture.GoTypes // of the modules, by their index
	makers map[uint16]bool         // the functions, by their index, with which a Go runtime makes blocks
	refs   typeRefs
	kept   map[typeKey]bool
	bytes  int // of their names
}

// set has the types of a module known; nil: they are not.
func (t *typeWriter) set(module int, types capture.GoTypes) {
	if t.of == nil {
		t.of = map[int]capture.GoTypes{}
	}
	t.of[module] = types
}

// function notes what the function with an index is.
func (t *typeWriter) function(index int, name string) {
	if !capture.OfGo(name) || index > math.MaxUint16 {
		return
	}
	if t.makers == nil {
		t.makers = map[uint16]bool{}
	}
	t.makers[uint16(index)] = true
}

// keepType writes a type, unless it is written.
func (w *tableWriter) keepType(k typeKey, t capture.GoType) {
	if w.types.kept[k] || len(w.types.kept) >= maxTypes || w.types.bytes+len(t.Name) > maxTypeBytes {
		return
	}
	if w.types.kept == nil {
		w.types.kept = map[typeKey]bool{}
	}
	w.types.kept[k] = true
	w.types.bytes += len(t.Name)
	w.records(chunkTypes).goType(k, t)
}

// AddModule appends a module and returns its index in Modules.
func (c *Writer) AddModule(m capture.Module) int {
	c.noteTypes()
	return c.tableWriter.AddModule(m)
}

// EndModule notes that module i was unmapped before event to.
func (c *Writer) EndModule(i int, to uint64) {
	c.noteTypes()
	if c.sums != nil {
		c.cut() // sums tell by their last event which modules their stacks are of
	}
	c.tableWriter.EndModule(i, to)
}

// noteTypes notes the types of the events that are encoded, and writes those that their modules tell.
func (c *Writer) noteTypes() {
	if c.encoder.head.count == 0 {
		return
	}
	stackOf := c.Stack
	if c.copied != nil {
		stackOf = c.copied.Stack
	}
	c.encoder.notes(func(fn uint16, seq uint64, stack capture.StackID, word uint32) {
		if !c.types.makers[fn] {
			return
		}
		ref, ok := c.types.refs.note(stack, word, stackOf)
		if !ok {
			return
		}
		i := int(moduleAt(c.modules, ref.code.Lookup(), seq)) - 1
		if i < 0 || c.types.kept[typeKey{uint32(i + 1), word}] {
			return
		}
		if t, ok := c.knownType(ref, i); ok {
			c.keepType(typeKey{uint32(i + 1), word}, t)
		}
	})
	c.encoder.types = c.encoder.types[:0]
}

// knownType is a type that a module is known to have.
func (w *tableWriter) knownType(ref typeRef, module int) (t capture.GoType, ok bool) {
	types := w.types.of[module]
	if types == nil {
		return t, false
	}
	return types(addr.Run(capture.GoAuxOfWord(ref.word).Type(uint64(w.modules[module].Low))))
}

// types keeps the types that events have and that are not kept yet.
func (e *embedding) types() {
	for i := range e.modules {
		m := &e.modules[i]
		e.w.keepNoted(i, m, func(ref typeRef) (t capture.GoType, ok bool) {
			aux := capture.GoAuxOfWord(ref.word)
			if e.sym != nil {
				t, ok = e.sym.GoType(ref.code, m.From, aux)
			}
			if !ok && e.src != nil {
				t, ok = e.src.GoType(ref.code, m.From, aux)
			}
			return t, ok
		})
	}
}

// keepNoted keeps the types that were noted where module i is mapped, as tell knows them. Some may be
// of another module that was mapped there: which of them an event is about is not noted.
func (w *tableWriter) keepNoted(i int, m *capture.Module, tell func(ref typeRef) (capture.GoType, bool)) {
	for _, ref := range w.types.refs.in(m) {
		k := typeKey{uint32(i + 1), ref.word}
		if w.types.kept[k] {
			continue
		}
		if t, ok := tell(ref); ok {
			w.keepType(k, t)
		}
	}
}

// GoType is the kept type of an allocation by code at an address.
func (f *File) GoType(code addr.Code, seq uint64, of capture.GoAux) (capture.GoType, bool) {
	f.embedded.Do(f.loadEmbedded)
	if of.Word() == 0 || len(f.goTypes) == 0 {
		return capture.GoType{}, false
	}
	t, ok := f.goTypes[typeKey{moduleAt(f.modules, code.Lookup(), seq), of.Word()}]
	return t, ok
}

func (w *recordWriter) goType(k typeKey, t capture.GoType) {
	w.uvarint(uint64(k.module))
	w.uvarint(uint64(k.word))
	w.uvarint(t.Size)
	w.string(t.Name)
	w.end()
}

func (r *recordReader) goType() (k typeKey, t capture.GoType) {
	k = typeKey{uint32(r.number(maxTable)), uint32(r.number(1<<24 - 1))}
	return k, capture.GoType{Size: r.uvarint(), Name: r.string()}
}
