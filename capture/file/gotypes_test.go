package file

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/internal/addr"
)

// typedModules are a program and a library with runtimes of Go, and what has the library's place later.
var typedModules = []capture.Module{
	{Path: "prog", Low: 0x400000, High: 0x800000, From: 0},
	{Path: "lib", Low: 0x7f0000000000, High: 0x7f0000100000, From: 0, To: 300},
	{Path: "next", Low: 0x7f0000000000, High: 0x7f0000100000, From: 300},
}

// fillTyped records so many events: of seven types in each of the two modules at a time, with a stack that
// has one type always, and of an allocator of C whose aux looks like a type.
func fillTyped(r capture.Recorder, events int) {
	for _, m := range typedModules[:2] {
		m.To = 0
		r.AddModule(m)
	}
	mallocgc, calloc := r.FuncIndex("runtime.mallocgc"), r.FuncIndex("calloc")
	var stacks []capture.StackID
	for i := range 6 {
		low := typedModules[i%2].Low
		stacks = append(stacks, r.Intern(capture.Stack{PCs: []addr.Run{low + 0x1000, low + addr.Run(0x2000+i)}}))
	}
	low := typedModules[1].Low
	same := r.Intern(capture.Stack{PCs: []addr.Run{low + 0x3000, low + 0x2000}})
	for i := range events {
		if next := typedModules[2]; uint64(i+1) == next.From {
			r.EndModule(1, next.From)
			r.AddModule(next)
		}
		if f, ok := r.(interface{ Flush() error }); ok && i == 400 {
			f.Flush()
		}
		e := capture.Event{Kind: capture.Alloc, Func: mallocgc, Addr: uint64(0xc000000000 + 64*i), Size: 64, TID: int32(1 + i%3), Stack: stacks[i%6]}
		e.Aux = uint64(capture.GoAuxOfWord(uint32(i/2%7))) | uint64(i%5) // one of them is no type
		if i%13 == 0 {
			e.Stack, e.Aux = same, uint64(capture.GoAuxOfWord(8))|3
		}
		if i%11 == 0 {
			e.Func, e.Aux = calloc, 99<<40
		}
		r.AddEvent(&e)
	}
}

func typedLog() *Log {
	log := NewLog(capture.Info{Program: "prog"})
	fillTyped(log, 600)
	return log
}

// checkTypes checks that a capture has the types that its events tell, and no others.
func checkTypes(t *testing.T, f *File) {
	t.Helper()
	got := map[string]bool{}
	for e := range f.Events(0) {
		code, aux := f.Stack(e.Stack).Code(0), capture.GoAux(e.Aux)
		typ, ok := f.GoType(code, e.Seq, aux)
		want := ""
		for _, m := range typedModules {
			if m.Holds(code.Lookup(), e.Seq) && aux.Word() != 0 && f.Functions()[e.Func] != "calloc" {
				want = fmt.Sprintf("%s.T%x", m.Path, aux.Word())
			}
		}
		if ok != (want != "") || typ.Name != want {
			t.Fatalf("#%d: type %q, %v; want %q", e.Seq, typ.Name, ok, want)
		}
		got[typ.Name] = true
	}
	if len(f.goTypes) > 7*3 || len(got) < 21 {
		t.Errorf("%d types are kept, %d were asked for", len(f.goTypes), len(got))
	}
}

// told tells the types of a module as FakeSymbols does.
func told(m capture.Module) capture.GoTypes {
	return func(at addr.Run) (capture.GoType, bool) {
		word := uint32((at - m.Low) / 8)
		return capture.GoType{Name: fmt.Sprintf("%s.T%x", m.Path, word), Size: uint64(word) * 8}, true
	}
}

// TestTypesOfGo has a capture keep the types that events have, whichever way it is made.
func TestTypesOfGo(t *testing.T) {
	const events = eventsPerChunk + 5000 // some of a log are encoded, and some are not
	log := NewLog(capture.Info{Program: "prog"})
	fillTyped(log, events)
	sym := capturetest.FakeSymbols{From: log}
	var saved bytes.Buffer
	if err := WriteSource(&saved, log, sym); err != nil {
		t.Fatal(err)
	}
	f := readBack(t, saved.Bytes())
	checkTypes(t, f)

	var again bytes.Buffer
	if err := WriteSource(&again, f, nil); err != nil {
		t.Fatal(err)
	}
	checkTypes(t, readBack(t, again.Bytes()))

	var streamed bytes.Buffer
	w := newTestWriter(t, &streamed)
	fillTyped(w, events)
	if err := w.Embed(sym); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	checkTypes(t, readBack(t, streamed.Bytes()))
}

// TestTypesBesideALostBlock has a log of which a block cannot be read back save the types of the others.
func TestTypesBesideALostBlock(t *testing.T) {
	log := NewLog(capture.Info{Program: "prog"})
	fillTyped(log, eventsPerChunk)
	calloc, stack := log.FuncIndex("calloc"), log.Intern(capture.Stack{PCs: []addr.Run{0x401000}})
	for i := range 2*eventsPerChunk + 100 {
		log.AddEvent(&capture.Event{Kind: capture.Alloc, Func: calloc, Addr: uint64(0x10000 + 64*i), Size: 64, TID: 1, Stack: stack})
	}
	log.queue.wait()
	lost := &log.blocks[1]
	lost.payload, lost.store, lost.length = nil, smallStore{}, 1
	var saved bytes.Buffer
	if err := WriteSource(&saved, log, capturetest.FakeSymbols{From: log}); err != nil {
		t.Fatal(err)
	}
	f := readBack(t, saved.Bytes())
	checkTypes(t, f)
	if n := f.Len(); n != 2*eventsPerChunk+100 {
		t.Errorf("%d events", n)
	}
}

func newTestWriter(t *testing.T, to io.Writer) *Writer {
	t.Helper()
	w, err := NewWriter(to, capture.Info{Program: "prog"})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// toldRecorder has the types of modules known when they are added.
type toldRecorder struct{ capture.Recorder }

func (r toldRecorder) AddModule(m capture.Module) int {
	i := r.Recorder.AddModule(m)
	r.SetGoTypes(i, told(m))
	return i
}

func (r toldRecorder) Flush() error {
	if w, ok := r.Recorder.(*Writer); ok {
		return w.Flush()
	}
	return nil
}

// TestTypesOfGoAreWithTheEvents has a recording that is never closed keep the types of all events that
// are in it, cut off wherever it is, also if it was in memory first.
func TestTypesOfGoAreWithTheEvents(t *testing.T) {
	for _, adopted := range []bool{false, true} {
		var b bytes.Buffer
		w := newTestWriter(t, &b)
		if adopted {
			log := NewLog(capture.Info{Program: "prog"})
			fillTyped(toldRecorder{log}, 600)
			w.Adopt(log)
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			w.AddMark(capture.MarkRecord{Seq: 600, Name: "adopted"})
		} else {
			fillTyped(toldRecorder{w}, 600)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		whole := b.Bytes()
		checkTypes(t, reopened(t, whole))
		with := 0
		for n := headerSize; n < len(whole); n += 7 {
			f := reopened(t, whole[:n])
			for e := range f.Events(0) {
				aux := capture.GoAux(e.Aux)
				if _, ok := f.GoType(f.Stack(e.Stack).Code(0), e.Seq, aux); !ok && aux.Word() != 0 && aux.Word() != 99 {
					t.Fatalf("cut at %d of %d: #%d has no type", n, len(whole), e.Seq)
				}
				with++
			}
		}
		if with == 0 {
			t.Error("no part of the file has events")
		}
	}
}

// reopened is a capture that may be cut off.
func reopened(t *testing.T, b []byte) *File {
	t.Helper()
	f, err := NewFile("test.hdb", bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestNamesOfTypesAreBounded has the names of types take no more than so much of a capture.
func TestNamesOfTypesAreBounded(t *testing.T) {
	w := newTestWriter(t, io.Discard)
	long := string(make([]byte, maxString))
	for i := range 2 * maxTypeBytes / maxString {
		w.keepType(typeKey{1, uint32(i)}, capture.GoType{Name: long})
	}
	if len(w.types.kept) != maxTypeBytes/maxString {
		t.Errorf("%d names are kept", len(w.types.kept))
	}
	w = newTestWriter(t, io.Discard)
	for i := range maxTypes + 10 {
		w.keepType(typeKey{uint32(1 + i%2), uint32(i / 2)}, capture.GoType{Name: "T"})
	}
	if len(w.types.kept) != maxTypes {
		t.Errorf("%d types are kept", len(w.types.kept))
	}
	var refs typeRefs
	for i := range maxTypeRefs + 10 {
		refs.note(capture.StackID(i+1), 1, func(id capture.StackID) capture.Stack {
			return capture.Stack{PCs: []addr.Run{addr.Run(0x1000 * uint64(id))}}
		})
	}
	if len(refs.all) != maxTypeRefs {
		t.Errorf("%d types are noted", len(refs.all))
	}
}
