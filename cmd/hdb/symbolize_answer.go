package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"hdb/console/screen"
	"hdb/internal/addr"
	"hdb/symbols"
)

// Questions are answered in the order of their files, units and addresses, by as many
// goroutines as there are processors: neighbours need the same tables. At least phase
// questions, and one of phases parts of all, are answered before the tables behind may
// be forgotten, share at a time by one goroutine.
const (
	phase  = 1 << 9
	phases = 8
	share  = 1 << 6

	answerSize = 256 // bytes of a usual one
)

// place is where a question is in the order of answering, and all that answering needs of it: the
// questions themselves lie far apart then.
type place struct {
	group uint64 // module and unit, each plus one
	file  addr.File
	at    uint64
	index int32 // of the question
}

func (p *place) module() int32 { return int32(p.group>>32) - 1 }

// An answer is a part of the text of a share.
type answer struct{ share, from, to int32 }

// scratch is what answering works with, kept from one batch to the next.
type scratch struct {
	order     []place
	texts     [][]byte // by share
	answers   []answer // by question
	renderers []*renderer
}

// answer writes the answers in the order of the questions.
func (s *symbolizer) answer(w *bufio.Writer, batch []question) error {
	step := len(batch)
	if s.whole && len(batch) > phase {
		step = max(phase, len(batch)/(phases*share)*share)
		s.findUnits(batch)
	}
	d := &s.scratch
	if len(batch) > phase || d.order != nil { // the first few questions make little rubbish
		s.settle()
	}
	d.order = d.order[:0]
	for i := range batch {
		q := &batch[i]
		d.order = append(d.order, place{uint64(q.module+1)<<32 | uint64(q.unit+1), q.file, q.at, int32(i)})
	}
	slices.SortFunc(d.order, func(p, q place) int {
		switch { // cmp.Or would compare all
		case p.group != q.group:
			return cmp.Compare(p.group, q.group)
		case p.file != q.file:
			return cmp.Compare(p.file, q.file)
		}
		return cmp.Compare(p.at, q.at)
	})
	d.answers = slices.Grow(d.answers[:0], len(batch))[:len(batch)]
	for shares := (len(batch) + share - 1) / share; len(d.texts) < shares; {
		d.texts = append(d.texts, make([]byte, 0, share*answerSize))
	}
	for begin := 0; begin < len(d.order); begin += step {
		end := min(begin+step, len(d.order))
		s.answerPhase(begin, end)
		if s.whole {
			s.forget(d.order[begin].module(), d.order[end-1].module())
		}
	}
	for i, a := range d.answers {
		if !s.json && s.addresses {
			if err := s.address(w, batch[i].at); err != nil {
				return err
			}
		}
		if _, err := w.Write(d.texts[a.share][a.from:a.to]); err != nil {
			return err
		}
	}
	return nil
}

// settle ends the time of opening files.
func (s *symbolizer) settle() {
	if !s.settled {
		s.settled = true
		debug.SetGCPercent(firstGC)
	}
}

// findUnits prepares an order in which the tables of a unit are needed once: its code may lie here
// and there, as with cold paths.
func (s *symbolizer) findUnits(batch []question) {
	for i := range batch {
		q := &batch[i]
		if q.module < 0 {
			continue
		}
		if obj, ok := s.modules[q.module].obj.(elfFile); ok {
			q.unit = int32(obj.Unit(q.file))
		}
	}
}

// forget drops what was derived for addresses of modules that do not come again.
func (s *symbolizer) forget(first, last int32) {
	for n := max(first, 0); n <= last; n++ {
		if obj := s.modules[n].obj; obj != nil {
			obj.Forget()
		}
	}
}

// answerPhase answers the questions that are begin to end in the order.
func (s *symbolizer) answerPhase(begin, end int) {
	first, last := begin/share, (end+share-1)/share // shares
	workers := min(runtime.GOMAXPROCS(0), last-first)
	// Each goroutine begins at another part: neighbours wait for the same tables.
	each := (last - first + workers - 1) / workers
	var next atomic.Int64
	work := func(r *renderer) {
		for {
			n := int(next.Add(1)) - 1
			if n >= each*workers {
				return
			}
			if k := first + n%workers*each + n/workers; k < last {
				s.answerShare(r, k, min(k*share+share, end))
			}
		}
	}
	for len(s.scratch.renderers) < workers {
		s.scratch.renderers = append(s.scratch.renderers, &renderer{symbolizeOptions: s.symbolizeOptions, cleaned: map[string]string{}})
	}
	var wg sync.WaitGroup
	for _, r := range s.scratch.renderers[1:workers] {
		wg.Go(func() { work(r) })
	}
	work(s.scratch.renderers[0])
	wg.Wait()
}

// answerShare renders the answers of share k, which ends at end in the order; the same
// question follows itself.
func (s *symbolizer) answerShare(r *renderer, k, end int) {
	d := &s.scratch
	text := d.texts[k][:0]
	var last place
	from := 0
	for n, p := range d.order[k*share : end] {
		if n == 0 || p.group != last.group || p.file != last.file || p.at != last.at {
			from = len(text)
			r.frames = s.chain(r.frames[:0], p.module(), p.file)
			text = r.render(text, r.frames, p.at)
			last = p
		}
		d.answers[p.index] = answer{int32(k), int32(from), int32(len(text))}
	}
	d.texts[k] = text
}

// chain appends what is known of an address: functions, or the name of data.
func (s *symbolizer) chain(frames []symbols.Frame, module int32, at addr.File) []symbols.Frame {
	if module < 0 || s.modules[module].obj == nil {
		return frames
	}
	obj := s.modules[module].obj
	frames = obj.LookupInto(frames, at)
	if len(frames) == 0 {
		if sym, _, ok := obj.SymbolAt(at); ok {
			return append(frames, symbols.Frame{Function: symbols.Demangle(sym.Name), Linkage: sym.Name, Entry: sym.Addr})
		}
	}
	if len(frames) > 1 && !s.inlines {
		frames = frames[:1]
	}
	return frames
}

func (s *symbolizer) address(w *bufio.Writer, a uint64) error {
	format := "0x%016x"
	if s.llvm {
		format = "%#x"
	}
	end := "\n"
	if s.pretty {
		end = ": "
	}
	_, err := fmt.Fprintf(w, format+end, a)
	return err
}

// A renderer writes answers.
type renderer struct {
	*symbolizeOptions
	cleaned map[string]string // names and paths that a terminal can take
	frames  []symbols.Frame   // of the answer that is being written
}

// maxCleaned bounds the strings that are kept.
const maxCleaned = 1 << 14

func (r *renderer) clean(s string) string {
	if isPlain(s) {
		return s
	}
	if c, ok := r.cleaned[s]; ok {
		return c
	}
	if len(r.cleaned) >= maxCleaned {
		clear(r.cleaned)
	}
	c := screen.Clean(s)
	r.cleaned[s] = c
	return c
}

// isPlain reports whether s is a short string of ASCII without control characters: that
// is known sooner than whether s was seen before.
func isPlain(s string) bool {
	if len(s) > 96 {
		return false
	}
	odd := byte(0)
	for i := range len(s) {
		odd |= s[i] - ' ' | ('~' - s[i]) // of both the highest bit is set outside
	}
	return odd < 0x80
}

func (r *renderer) render(b []byte, frames []symbols.Frame, at uint64) []byte {
	if r.json {
		return r.renderJSON(b, frames, at)
	}
	if len(frames) == 0 {
		return r.unknown(b)
	}
	for i := range frames {
		f := &frames[i]
		if i > 0 && r.pretty {
			b = append(b, " (inlined by) "...)
		}
		if r.functions {
			b = append(b, r.function(f)...)
			if r.pretty {
				b = append(b, " at "...)
			} else {
				b = append(b, '\n')
			}
		}
		b = r.place(b, f)
	}
	if r.llvm {
		b = append(b, '\n')
	}
	return b
}

// unknown is what addr2line prints when it found nothing.
func (r *renderer) unknown(b []byte) []byte {
	switch {
	case r.llvm && r.pretty:
		return append(b, "?? at ??:0:0\n\n"...)
	case r.llvm:
		return append(b, "??\n??:0:0\n\n"...)
	case r.functions && r.pretty:
		return append(b, "?? ??:0\n"...)
	case r.functions:
		return append(b, "??\n??:0\n"...)
	}
	return append(b, "??:0\n"...)
}

// function is the name as the linker knows it, or as the source does. What C
// libraries define under a private name keeps that.
func (r *renderer) function(f *symbols.Frame) string {
	name := f.Function
	if mangled := strings.HasPrefix(f.Linkage, "_Z") || strings.HasPrefix(f.Linkage, "_R"); f.Linkage != "" && !(mangled && r.demangle) {
		name = f.Linkage
	}
	if name == "" {
		return "??"
	}
	return r.clean(name)
}

// place is FILE:LINE, with ? for a line that is not known; FILE:LINE:COLUMN for LLVM.
func (r *renderer) place(b []byte, f *symbols.Frame) []byte {
	file := f.File
	switch {
	case file == "":
		file = "??"
	case r.basenames:
		file = path.Base(file)
	}
	b = append(b, r.clean(file)...)
	b = append(b, ':')
	if r.llvm {
		b = strconv.AppendInt(b, int64(f.Line), 10)
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(f.Column), 10)
		return append(b, '\n')
	}
	if f.Line == 0 {
		return append(b, "?\n"...)
	}
	b = strconv.AppendInt(b, int64(f.Line), 10)
	if f.Discriminator != 0 {
		b = append(b, " (discriminator "...)
		b = strconv.AppendInt(b, int64(f.Discriminator), 10)
		b = append(b, ')')
	}
	return append(b, '\n')
}

// symbolized is the JSON object of one address.
type symbolized struct {
	V       int               `json:"v"`
	Address string            `json:"address"`
	Frames  []symbolizedFrame `json:"frames"`
}

type symbolizedFrame struct {
	Function      string `json:"function"`
	Linkage       string `json:"linkage,omitempty"`
	Entry         string `json:"entry,omitempty"`
	File          string `json:"file,omitempty"`
	Line          int    `json:"line,omitempty"`
	Column        int    `json:"column,omitempty"`
	Discriminator int    `json:"discriminator,omitempty"`
	Inlined       bool   `json:"inlined,omitempty"`
	Source        string `json:"source"`
}

func (r *renderer) renderJSON(b []byte, frames []symbols.Frame, at uint64) []byte {
	row := symbolized{V: 1, Address: fmt.Sprintf("%#x", at), Frames: []symbolizedFrame{}}
	for _, f := range frames {
		row.Frames = append(row.Frames, symbolizedFrame{f.Function, f.Linkage, entry(f.Entry), f.File, f.Line, f.Column, f.Discriminator, f.Inlined, f.Source.String()})
	}
	text, err := json.Marshal(row)
	if err != nil {
		return b // of strings and numbers there is none
	}
	return append(append(b, text...), '\n')
}

func entry(a addr.File) string { return fmt.Sprintf("%#x", uint64(a)) }
