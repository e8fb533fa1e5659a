package file

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"hdb/capture"
	"hdb/internal/addr"
)

// Chunks that are not of events hold records: a section of strings and a
// section of records, each with its length in front, so that fields can be
// added at the end. This file is part of the wire format, as is the order of
// the fields in each put and get pair.

const (
	secStrings = 1
	secRecords = 2
	secTrailer = 3 // of an index only

	maxString  = 64 << 10 // bytes; longer strings are cut when written
	maxStrings = 1 << 18  // of a chunk
	maxTable   = 1 << 20  // modules of a capture
	maxArgs    = 1 << 16  // of the program
	maxPartial = 1 << 10  // reasons why events are not there

	maxArgBytes = 4 << 20 // of all arguments
)

// A recordWriter collects the records of one chunk. Equal strings are kept once.
type recordWriter struct {
	strings []byte
	ids     map[string]uint64
	records []byte
	record  []byte
}

func (w *recordWriter) uvarint(v uint64) { w.record = binary.AppendUvarint(w.record, v) }
func (w *recordWriter) varint(v int64)   { w.uvarint(zigzag(uint64(v))) }

// int writes a number of at most 31 bits; others, which mean nothing, as 0.
func (w *recordWriter) int(v int) {
	if v < 0 || v > math.MaxInt32 {
		v = 0
	}
	w.uvarint(uint64(v))
}

func (w *recordWriter) bool(v bool) {
	if v {
		w.uvarint(1)
	} else {
		w.uvarint(0)
	}
}

func (w *recordWriter) string(s string) {
	if len(s) > maxString {
		s = s[:maxString]
	}
	if s == "" {
		w.uvarint(0)
		return
	}
	id, ok := w.ids[s]
	if !ok {
		if w.ids == nil {
			w.ids = map[string]uint64{}
		}
		id = uint64(len(w.ids) + 1)
		w.ids[s] = id
		w.strings = binary.AppendUvarint(w.strings, uint64(len(s)))
		w.strings = append(w.strings, s...)
	}
	w.uvarint(id)
}

// end completes the record.
func (w *recordWriter) end() {
	w.records = binary.AppendUvarint(w.records, uint64(len(w.record)))
	w.records = append(w.records, w.record...)
	w.record = w.record[:0]
}

// full reports whether the chunk should be written. No record adds so much that
// a chunk that was not full breaks the limits of the format.
func (w *recordWriter) full() bool {
	return len(w.strings)+len(w.records) >= 1<<20 || len(w.ids) >= maxStrings/2
}

// append appends the chunk's payload for the records so far.
func (w *recordWriter) append(b []byte, p *packer) []byte {
	if len(w.strings) > 0 {
		b = p.appendPacked(b, secStrings, w.strings)
	}
	return p.appendPacked(b, secRecords, w.records)
}

// A recordReader is the inverse of a recordWriter. After an error it returns
// zeros. Fields that a record of an older version lacks are zero, too.
type recordReader struct {
	strings []string
	records cursor
	record  cursor
}

func newRecordReader(s sections) (*recordReader, error) {
	strings, err := parseStrings(s[secStrings])
	if err != nil {
		return nil, err
	}
	return &recordReader{strings: strings, records: cursor{name: "records", b: s[secRecords]}}, nil
}

// parseStrings reads a section of strings, each with its length in front. They
// are counted from 1; 0 is the empty one.
func parseStrings(b []byte) ([]string, error) {
	strings := []string{""}
	for c := (cursor{name: "strings", b: b}); len(c.b) > 0; {
		n := c.uvarint()
		if n > maxString || n > uint64(len(c.b)) {
			c.fail("a string is cut off or too long")
		}
		if len(strings) > maxStrings {
			c.fail("too many")
		}
		if c.err != nil {
			return nil, c.err
		}
		strings = append(strings, string(c.b[:n]))
		c.b = c.b[n:]
	}
	return strings, nil
}

// next goes to the next record.
func (r *recordReader) next() bool {
	if r.record.err != nil && r.records.err == nil {
		r.records.err = r.record.err
	}
	if r.records.err != nil || len(r.records.b) == 0 {
		return false
	}
	n := r.records.uvarint()
	if n > uint64(len(r.records.b)) {
		r.records.fail("a record is cut off")
		return false
	}
	r.record = cursor{name: "record", b: r.records.b[:n]}
	r.records.b = r.records.b[n:]
	return true
}

// fail makes next return false.
func (r *recordReader) fail(format string, args ...any) { r.record.fail(fmt.Sprintf(format, args...)) }

func (r *recordReader) err() error {
	if r.record.err != nil {
		return r.record.err
	}
	return r.records.err
}

func (r *recordReader) uvarint() uint64 {
	if len(r.record.b) == 0 {
		return 0
	}
	return r.record.uvarint()
}

func (r *recordReader) varint() int64 { return int64(unzigzag(r.uvarint())) }
func (r *recordReader) bool() bool    { return r.uvarint() != 0 }

// number is a value that must not be above limit.
func (r *recordReader) number(limit uint64) uint64 {
	v := r.uvarint()
	if v > limit {
		r.fail("%d is more than %d", v, limit)
		return 0
	}
	return v
}

func (r *recordReader) int() int     { return int(r.number(math.MaxInt32)) }
func (r *recordReader) int32() int32 { return int32(uint32(r.number(math.MaxUint32))) }

// parts is the number of parts that follow, each of n fields. A field takes a byte at least.
func (r *recordReader) parts(fields int) int {
	return int(r.number(uint64(len(r.record.b) / fields)))
}

func (r *recordReader) string() string {
	return r.strings[r.number(uint64(len(r.strings)-1))]
}

func (r *recordReader) time() time.Duration { return time.Duration(r.varint()) * capture.Resolution }

func (w *recordWriter) int32(v int32)        { w.uvarint(uint64(uint32(v))) }
func (w *recordWriter) time(t time.Duration) { w.varint(int64(t / capture.Resolution)) }

func (w *recordWriter) info(i capture.Info) {
	w.string(i.Program)
	args := i.Args
	for n, bytes := 0, 0; n < len(args); n++ {
		if bytes += len(args[n]); n == maxArgs || bytes > maxArgBytes {
			args = args[:n] // no kernel of today passes that many
		}
	}
	w.int(len(args))
	for _, a := range args {
		w.string(a)
	}
	w.int(i.PID)
	w.varint(i.Start.Unix())
	w.uvarint(uint64(i.Start.Nanosecond()))
	w.string(i.Host)
	w.string(i.Kernel)
	w.string(i.Arch)
	w.string(i.Created)
	t := i.Totals
	for _, v := range []uint64{t.Events, t.Allocs, t.Frees, t.Failed, t.Bytes} {
		w.uvarint(v)
	}
	w.time(t.Last)
	if t.Lost > 0 || i.Aggregate || len(i.Partial) > 0 { // a field that is not there is 0
		w.uvarint(t.Lost)
	}
	if i.Aggregate || len(i.Partial) > 0 {
		w.bool(i.Aggregate)
	}
	if len(i.Partial) > 0 {
		partial := i.Partial[:min(len(i.Partial), maxPartial)]
		w.int(len(partial))
		for _, reason := range partial {
			w.reason(reason)
		}
	}
	w.end()
}

func (r *recordReader) info() (i capture.Info) {
	i.Program = r.string()
	if n := r.parts(1); n > 0 {
		i.Args = make([]string, n)
	}
	for k := range i.Args {
		i.Args[k] = r.string()
	}
	i.PID = r.int()
	sec := r.varint()
	i.Start = time.Unix(sec, int64(r.number(999_999_999))).UTC()
	i.Host = r.string()
	i.Kernel = r.string()
	i.Arch = r.string()
	i.Created = r.string()
	t := &i.Totals
	for _, v := range []*uint64{&t.Events, &t.Allocs, &t.Frees, &t.Failed, &t.Bytes} {
		*v = r.uvarint()
	}
	t.Last = r.time()
	t.Lost = r.uvarint()
	i.Aggregate = r.bool()
	if n := r.parts(2); n > 0 {
		i.Partial = make(capture.Reasons, n)
	}
	for k := range i.Partial {
		i.Partial[k] = r.reason()
	}
	return i
}

func (w *recordWriter) reason(why capture.Reason) {
	w.uvarint(uint64(why.Kind))
	w.string(why.Text)
}

func (r *recordReader) reason() capture.Reason {
	return capture.Reason{Kind: capture.ReasonKind(r.number(math.MaxUint8)), Text: r.string()}
}

func (w *recordWriter) function(index int, name string) {
	w.int(index)
	w.string(name)
	w.end()
}

func (r *recordReader) function() (index int, name string) {
	return int(r.number(math.MaxUint16)), r.string()
}

func (w *recordWriter) thread(t capture.Thread) {
	w.varint(int64(t.Num))
	w.int32(t.TID)
	w.string(t.Name)
	w.end()
}

func (r *recordReader) thread() capture.Thread {
	return capture.Thread{Num: int(r.varint()), TID: r.int32(), Name: r.string()}
}

func (w *recordWriter) module(index int, m capture.Module) {
	w.int(index)
	w.string(m.Path)
	w.string(m.BuildID)
	for _, v := range []uint64{uint64(m.Bias), uint64(m.Low), uint64(m.High - m.Low), m.From, m.To} {
		w.uvarint(v)
	}
	if m.GoBuildID != "" { // a field that is not there is 0
		w.string(m.GoBuildID)
	}
	w.end()
}

func (r *recordReader) module() (index int, m capture.Module) {
	index = int(r.number(maxTable))
	m = capture.Module{Path: r.string(), BuildID: r.string(), Bias: addr.Bias(r.uvarint()), Low: addr.Run(r.uvarint())}
	m.High = m.Low + addr.Run(r.uvarint())
	m.From, m.To = r.uvarint(), r.uvarint()
	m.GoBuildID = r.string()
	return index, m
}

func (w *recordWriter) stop(s capture.StopRecord) {
	w.uvarint(s.Seq)
	w.time(s.Time)
	w.string(s.Text)
	w.int32(s.TID)
	w.uvarint(uint64(s.Stack))
	w.uvarint(s.Event)
	w.end()
}

func (r *recordReader) stop() capture.StopRecord {
	return capture.StopRecord{
		Seq: r.uvarint(), Time: r.time(), Text: r.string(), TID: r.int32(),
		Stack: capture.StackID(r.number(math.MaxUint32)), Event: r.uvarint(),
	}
}

func (w *recordWriter) mark(m capture.MarkRecord) {
	w.uvarint(m.Seq)
	w.time(m.Time)
	w.string(m.Name)
	w.end()
}

func (r *recordReader) mark() capture.MarkRecord {
	return capture.MarkRecord{Seq: r.uvarint(), Time: r.time(), Name: r.string()}
}

func (w *recordWriter) sample(s capture.SampleRecord) {
	w.uvarint(s.Seq)
	w.time(s.Time)
	w.uvarint(s.RSS)
	w.end()
}

func (r *recordReader) sample() capture.SampleRecord {
	return capture.SampleRecord{Seq: r.uvarint(), Time: r.time(), RSS: r.uvarint()}
}

func (w *recordWriter) consoleLine(l capture.ConsoleLine) {
	w.uvarint(l.Seq)
	w.time(l.Time)
	w.bool(l.Typed)
	w.string(l.Text)
	w.end()
}

func (r *recordReader) consoleLine() capture.ConsoleLine {
	return capture.ConsoleLine{Seq: r.uvarint(), Time: r.time(), Typed: r.bool(), Text: r.string()}
}

func (w *recordWriter) loss(l capture.Loss) {
	w.uvarint(l.After)
	w.uvarint(l.Count)
	w.reason(l.Reason)
	w.end()
}

func (r *recordReader) loss() capture.Loss {
	return capture.Loss{After: r.uvarint(), Count: r.uvarint(), Reason: r.reason()}
}

func (w *recordWriter) exec(first uint64) {
	w.uvarint(first)
	w.end()
}

func (r *recordReader) exec() (first uint64) { return r.number(maxSeq) }

// A symbolKey is what Symbol looks up. The module, counted from 1, distinguishes the files that
// were mapped at one address one after the other; 0 is none.
type symbolKey struct {
	pc       addr.Run
	module   uint32
	isReturn bool
}

func (w *recordWriter) symbol(k symbolKey, frames []capture.Frame) {
	w.uvarint(uint64(k.module))
	w.bool(k.isReturn)
	w.uvarint(uint64(k.pc))
	w.int(len(frames))
	for _, f := range frames {
		for _, s := range []string{f.Function, f.Linkage, f.File, f.Source, f.Language} {
			w.string(s)
		}
		w.int(f.Line)
		w.int(f.Column)
		w.bool(f.Inlined)
		w.uvarint(f.Offset)
		w.uvarint(uint64(f.FuncLow))
	}
	w.end()
}

func (r *recordReader) symbol() (k symbolKey, frames []capture.Frame) {
	k.module = uint32(r.number(maxTable))
	k.isReturn = r.bool()
	k.pc = addr.Run(r.uvarint())
	frames = make([]capture.Frame, r.parts(10))
	for i := range frames {
		f := &frames[i]
		for _, s := range []*string{&f.Function, &f.Linkage, &f.File, &f.Source, &f.Language} {
			*s = r.string()
		}
		f.Line, f.Column = r.int(), r.int()
		f.Inlined = r.bool()
		f.Offset = r.uvarint()
		f.FuncLow = addr.Run(r.uvarint())
	}
	return k, frames
}

func (w *recordWriter) excerpt(file string, x capture.Excerpt) {
	w.string(file)
	w.int(x.First)
	w.int(len(x.Lines))
	for _, line := range x.Lines {
		w.string(line)
	}
	w.end()
}

func (r *recordReader) excerpt() (file string, x capture.Excerpt) {
	file = r.string()
	x.First = r.int()
	x.Lines = make([]string, r.parts(1))
	for i := range x.Lines {
		x.Lines[i] = r.string()
	}
	return file, x
}
