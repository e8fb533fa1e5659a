package file

import (
	"fmt"
	"slices"

	"hdb/capture"
)

// maxWrong bounds the list of Verify.
const maxWrong = 20

// Verify decodes everything, and checks what a reader takes on trust: that the
// events speak of stacks and functions that are there, that the summaries and checkpoints
// are those of the events, that the totals are right and that the index lists the chunks.
// It returns a line for each thing that is wrong, at most 20; what is damaged, see
// Damage, is not among them.
func (f *File) Verify() (wrong []string) {
	v := &verifier{f: f, whole: f.Damage() == nil}
	v.index()
	v.events()
	v.sums()
	_ = f.Check()
	return v.wrong
}

// A verifier looks for what a capture says wrongly.
type verifier struct {
	f     *File
	whole bool // nothing is damaged: what is not there was never written
	wrong []string
}

func (v *verifier) say(format string, args ...any) {
	if len(v.wrong) < maxWrong {
		v.wrong = append(v.wrong, fmt.Sprintf(format, args...))
	}
}

// index compares the index with the chunks that were found.
func (v *verifier) index() {
	f := v.f
	refs, err := f.chunks.readIndex()
	if err != nil {
		return // there is none, or it is damaged: Damage says so
	}
	found := f.refs
	if n := len(found); n > 0 && found[n-1].kind == chunkIndex {
		found = found[:n-1]
	}
	if v.whole && !slices.Equal(refs, found) {
		v.say("the index lists other chunks than the file has")
	}
}

// events decodes all events, and does the sums of each chunk again.
func (v *verifier) events() {
	f := v.f
	var d eventDecoder
	var sums eventEncoder
	var buf []capture.Event
	var totals capture.Totals
	blocks := heldCheck{f: f}
	known := true // the state before the chunk
	for _, ref := range f.events {
		payload, err := f.chunks.chunk(ref)
		if err == nil {
			buf, err = d.decode(buf[:0], payload)
		}
		if err != nil {
			f.fail(ref, err)
			known, blocks.lost = false, true
			continue
		}
		for i := range buf {
			totals.Add(&buf[i], buf[i].Time)
			v.event(&buf[i])
		}
		said, err := d.summaryOf(payload)
		switch {
		case err != nil:
			v.say("events #%d to #%d: %v", ref.first, ref.last, err)
			known = false
			continue
		}
		if said.Fresh {
			sums.sum.replaced()
		}
		if c := blocks.chunk(buf, said.Fresh); c != nil {
			v.say("the checkpoint after #%d is of other blocks", c.Seq)
		}
		v.touched(said, buf)
		is, err := sums.summary(buf)
		if err != nil || known && !sameSummary(is, said) {
			v.say("events #%d to #%d: the summary is of others", ref.first, ref.last)
		}
		sums.sum.state = heapState{said.Live, said.Blocks}
		known = true
	}
	if t := f.info.Totals; v.whole && f.Damage() == nil && !f.info.Aggregate {
		totals.Lost, totals.Last = t.Lost, t.Last
		if totals != t {
			v.say("the totals are %+v, the events add up to %+v", t, totals)
		}
	}
}

// sums checks that what is live continues from sums to sums.
func (v *verifier) sums() {
	if len(v.f.events) > 0 {
		return
	}
	live, blocks, next := uint64(0), uint64(0), uint64(0)
	for s, err := range v.f.Summaries(0) {
		if err != nil {
			v.say("sums: %v", err)
			return
		}
		if s.Fresh {
			live, blocks = 0, 0
		}
		for i := range s.Flows {
			fl := &s.Flows[i]
			live += fl.Bytes - fl.Freed
			blocks += fl.Allocs - fl.Frees
		}
		if v.whole && (live != s.Live || blocks != s.Blocks) {
			v.say("sums of #%d to #%d: %d bytes live in %d blocks, %d in %d by stack", s.First, s.Last, s.Live, s.Blocks, live, blocks)
		}
		if v.whole && s.First <= next {
			v.say("sums of #%d to #%d: out of order", s.First, s.Last)
		}
		live, blocks, next = s.Live, s.Blocks, s.Last
	}
}

// event checks what an event refers to.
func (v *verifier) event(e *capture.Event) {
	if id := max(e.Stack, e.Ended.Stack); v.whole && int(id) > v.f.numStacks {
		v.say("event #%d: stack %d is not there", e.Seq, id)
	}
	if v.whole && e.Kind != capture.Mark && int(e.Func) >= len(v.f.functions) {
		v.say("event #%d: function %d is not there", e.Seq, e.Func)
	}
}

// touched checks that the addresses of a run's events are among those it tells.
func (v *verifier) touched(s *capture.Summary, events []capture.Event) {
	encoded, ok := s.Touches.(encodedAddresses)
	if !ok {
		return
	}
	t, err := parseTouched(encoded)
	if err != nil {
		v.say("events #%d to #%d: %v", s.First, s.Last, err)
		return
	}
	for i := range events {
		if e := &events[i]; e.Addr != 0 && !t.has(e.Addr) || e.Old != 0 && !t.has(e.Old) {
			v.say("event #%d: its address is not among those of #%d to #%d", e.Seq, s.First, s.Last)
			return
		}
	}
}

// sameSummary reports whether two summaries say the same.
func sameSummary(s, o *capture.Summary) bool {
	a, b := *s, *o
	a.Flows, a.Sizes, a.Calls, b.Flows, b.Sizes, b.Calls = nil, nil, nil, nil, nil, nil
	a.Fresh, a.Touches, b.Touches, a.Maps, b.Maps = b.Fresh, nil, nil, nil, nil
	if o.Maps != nil && (s.Maps == nil || !slices.Equal(slices.Collect(s.Maps.Events()), slices.Collect(o.Maps.Events()))) {
		return false // versions before 2.1 have none
	}
	return fmt.Sprint(a) == fmt.Sprint(b) && slices.Equal(s.Flows, o.Flows) && slices.Equal(s.Sizes, o.Sizes) && slices.Equal(s.Calls, o.Calls)
}

// A Part is what the chunks of one kind take of a file.
type Part struct {
	Kind   string `json:"kind"`
	Chunks int    `json:"chunk_count"`
	Bytes  int64  `json:"size"` // with their headers
}

// Parts are the kinds of chunks in the file, by their numbers in the format.
func (f *File) Parts() []Part {
	var parts [256]Part
	for _, ref := range f.refs {
		h, err := f.chunks.header(ref.offset)
		if err != nil {
			continue // lost meanwhile
		}
		p := &parts[ref.kind]
		p.Kind = ref.kind.String()
		p.Chunks++
		p.Bytes += chunkHeaderSize + int64(h.length)
	}
	return slices.DeleteFunc(parts[:], func(p Part) bool { return p.Chunks == 0 })
}

// Size is the file's length in bytes.
func (f *File) Size() int64 { return f.chunks.size }
