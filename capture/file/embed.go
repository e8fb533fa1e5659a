package file

import (
	"iter"
	"slices"

	"hdb/capture"
	"hdb/internal/addr"
)

// moduleAt is the index, from 1, of the module that pc lay in at event seq. A
// module that was mapped at another time is second best: a stop may show a
// stack of a module that was loaded after the last event. 0 is none.
func moduleAt(modules []capture.Module, pc addr.Run, seq uint64) uint32 {
	found := uint32(0)
	for i, m := range modules {
		if m.Holds(pc, seq) {
			return uint32(i + 1)
		}
		if m.Covers(pc) {
			found = uint32(i + 1)
		}
	}
	return found
}

// loadEmbedded reads the kept symbols, types and source lines.
func (f *File) loadEmbedded() {
	f.frames = map[symbolKey][]capture.Frame{}
	f.goTypes = map[typeKey]capture.GoType{}
	f.excerpts = map[string][]capture.Excerpt{}
	for _, ref := range f.symbols {
		err := f.records(ref, func(r *recordReader) {
			if k, frames := r.symbol(); r.record.err == nil {
				f.frames[k] = frames
			}
		})
		if err != nil {
			f.fail(ref, err)
		}
	}
	for _, ref := range f.types {
		err := f.records(ref, func(r *recordReader) {
			if k, t := r.goType(); r.record.err == nil {
				f.goTypes[k] = t
			}
		})
		if err != nil {
			f.fail(ref, err)
		}
	}
	for _, ref := range f.sources {
		err := f.records(ref, func(r *recordReader) {
			if file, x := r.excerpt(); r.record.err == nil {
				f.excerpts[file] = append(f.excerpts[file], x)
			}
		})
		if err != nil {
			f.fail(ref, err)
		}
	}
	for _, excerpts := range f.excerpts {
		slices.SortFunc(excerpts, func(a, b capture.Excerpt) int { return a.First - b.First })
	}
}

// Frames yields the functions of all kept chains, in no order.
func (f *File) Frames() iter.Seq[capture.Frame] {
	f.embedded.Do(f.loadEmbedded)
	return func(yield func(capture.Frame) bool) {
		for _, chain := range f.frames {
			for _, fr := range chain {
				if !yield(fr) {
					return
				}
			}
		}
	}
}

// embeddedContext are the lines kept above and below each line that a frame is on: enough for a few
// list commands.
const embeddedContext = 20

// An embedding collects what a capture keeps of symbols and sources.
type embedding struct {
	w       *Writer
	src     capture.Source   // what is kept already, or nil
	sym     capture.Embedder // or nil
	modules []capture.Module
	done    map[symbolKey]bool
	lines   map[string]map[int]bool // by file: lines that frames are on
}

// embed writes the symbols and source lines of the code addresses, each with
// whether it is a return address, and the types of the events: those that e.sym knows, else
// those of e.src.
func (w *Writer) embed(e embedding, codes iter.Seq2[addr.Run, bool]) {
	e.w, e.done, e.lines = w, map[symbolKey]bool{}, map[string]map[int]bool{}
	for pc, isReturn := range codes {
		e.address(pc, isReturn)
	}
	w.flushRecords(chunkSymbols)
	e.types()
	w.flushRecords(chunkTypes)
	e.sources()
	w.flushRecords(chunkSources)
}

// address keeps what pc was in each module that was ever mapped there.
func (e *embedding) address(pc addr.Run, isReturn bool) {
	inModule := false
	for i, m := range e.modules {
		if m.Covers(pc) {
			inModule = true
			e.symbol(symbolKey{pc, uint32(i + 1), isReturn}, m.From)
		}
	}
	if !inModule {
		e.symbol(symbolKey{pc, 0, isReturn}, 0)
	}
}

// symbol keeps one function chain, which was valid at event seq.
func (e *embedding) symbol(k symbolKey, seq uint64) {
	if e.done[k] {
		return
	}
	e.done[k] = true
	var frames []capture.Frame
	if e.sym != nil {
		frames = e.sym.Resolve(k.pc, k.isReturn, seq)
	}
	if len(frames) == 0 && e.src != nil {
		frames, _ = e.src.Symbol(k.pc, k.isReturn, seq)
	}
	if len(frames) == 0 {
		return
	}
	e.w.records(chunkSymbols).symbol(k, frames)
	for _, f := range frames {
		if f.File == "" || f.Line <= 0 {
			continue
		}
		if e.lines[f.File] == nil {
			e.lines[f.File] = map[int]bool{}
		}
		e.lines[f.File][f.Line] = true
	}
}

// sources keeps the lines around those that frames are on.
func (e *embedding) sources() {
	files := make([]string, 0, len(e.lines))
	for file := range e.lines {
		files = append(files, file)
	}
	slices.Sort(files)
	for _, file := range files {
		for _, x := range e.excerpts(file) {
			e.w.records(chunkSources).excerpt(file, x)
		}
	}
}

// excerpts are the lines of one file to keep.
func (e *embedding) excerpts(file string) []capture.Excerpt {
	if e.sym != nil {
		if text, ok := e.sym.SourceLine(file); ok {
			return excerpts(text, e.lines[file])
		}
	}
	if e.src != nil {
		return e.src.SourceLines(file)
	}
	return nil
}

// maxExcerpt bounds the lines of an excerpt, so that a record stays small.
const maxExcerpt = 256

// excerpts cuts the surroundings of lines out of a text.
func excerpts(text []string, lines map[int]bool) []capture.Excerpt {
	var out []capture.Excerpt
	for n := range text {
		if !nearLine(lines, n+1) {
			continue
		}
		if k := len(out) - 1; k >= 0 && out[k].First+len(out[k].Lines) == n+1 && len(out[k].Lines) < maxExcerpt {
			out[k].Lines = append(out[k].Lines, text[n])
		} else {
			out = append(out, capture.Excerpt{First: n + 1, Lines: []string{text[n]}})
		}
	}
	return out
}

func nearLine(lines map[int]bool, n int) bool {
	for d := -embeddedContext; d <= embeddedContext; d++ {
		if lines[n+d] {
			return true
		}
	}
	return false
}
