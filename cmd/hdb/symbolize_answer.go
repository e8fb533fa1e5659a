package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"hdb/console"
	"hdb/internal/addr"
	"hdb/symbols"
)

// Questions are answered in the order of their files, units and addresses, by as many
// goroutines as there are processors: neighbours need the same tables. phase
// questions are answered before the tables behind may be forgotten, share at a time
// by one goroutine.
const (
	phase = 1 << 9
	share = 1 << 6

	answerSize = 256 // bytes of a usual one
)

// answer writes the answers in the order of the questions.
func (s *symbolizer) answer(w *bufio.Writer, batch []question) error {
	if s.whole && len(batch) > phase {
		s.findUnits(batch)
	}
	order := make([]int32, len(batch))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		p, q := &batch[a], &batch[b]
		switch { // cmp.Or would compare all
		case p.module != q.module:
			return cmp.Compare(p.module, q.module)
		case p.unit != q.unit:
			return cmp.Compare(p.unit, q.unit)
		case p.file != q.file:
			return cmp.Compare(p.file, q.file)
		}
		return cmp.Compare(p.at, q.at)
	})
	answers := make([][]byte, len(batch))
	for begin := 0; begin < len(order); begin += phase {
		part := order[begin:min(begin+phase, len(order))]
		s.answerPhase(batch, part, answers)
		if s.whole {
			s.forget(batch[part[0]].module, batch[part[len(part)-1]].module)
		}
	}
	for i := range batch {
		if !s.json && s.addresses {
			if err := s.address(w, batch[i].at); err != nil {
				return err
			}
		}
		if _, err := w.Write(answers[i]); err != nil {
			return err
		}
	}
	return nil
}

// findUnits prepares an order in which the tables of a unit are needed once: its code
// may lie here and there, as that of cold paths does.
func (s *symbolizer) findUnits(batch []question) {
	for i := range batch {
		q := &batch[i]
		if q.module < 0 {
			continue
		}
		if obj, ok := s.modules[q.module].obj.(*symbols.Object); ok {
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

func (s *symbolizer) answerPhase(batch []question, order []int32, answers [][]byte) {
	shares := (len(order) + share - 1) / share
	workers := min(runtime.GOMAXPROCS(0), shares)
	// Each goroutine begins at another part: neighbours wait for the same tables.
	each := (shares + workers - 1) / workers
	var next atomic.Int64
	work := func() {
		r := renderer{symbolizeOptions: s.symbolizeOptions, cleaned: map[string]string{}}
		for {
			n := int(next.Add(1)) - 1
			if n >= each*workers {
				return
			}
			if begin := (n%workers*each + n/workers) * share; begin < len(order) {
				s.answerShare(&r, batch, order[begin:min(begin+share, len(order))], answers)
			}
		}
	}
	var wg sync.WaitGroup
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

// answerShare renders the answers to some questions; the same question follows itself.
func (s *symbolizer) answerShare(r *renderer, batch []question, order []int32, answers [][]byte) {
	text := make([]byte, 0, share*answerSize)
	var last question
	var lastText []byte
	for k, i := range order {
		q := batch[i]
		if k == 0 || q != last {
			from := len(text)
			text = r.render(text, s.chain(q), q.at)
			last, lastText = q, text[from:len(text):len(text)]
		}
		answers[i] = lastText
	}
}

// chain is what is known of a question: functions, or the name of data.
func (s *symbolizer) chain(q question) []symbols.Frame {
	if q.module < 0 || s.modules[q.module].obj == nil {
		return nil
	}
	obj := s.modules[q.module].obj
	frames := obj.Lookup(q.file)
	if len(frames) == 0 {
		if sym, _, ok := obj.SymbolAt(q.file); ok {
			return []symbols.Frame{{Function: symbols.Demangle(sym.Name), Linkage: sym.Name, Entry: sym.Addr}}
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
}

// maxCleaned bounds the strings that are kept.
const maxCleaned = 1 << 14

func (r *renderer) clean(s string) string {
	if c, ok := r.cleaned[s]; ok {
		return c
	}
	if len(r.cleaned) >= maxCleaned {
		clear(r.cleaned)
	}
	c := console.Clean(s)
	r.cleaned[s] = c
	return c
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
