package file

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/internal/addr"
)

// visit reads all that a file offers.
func visit(f *File) {
	f.Check()
	f.Info()
	f.Functions()
	f.Losses()
	f.Threads()
	f.Event(1)
	f.Event(uint64(f.Len()))
	modules := f.Modules()
	for _, m := range modules[:min(len(modules), 100)] {
		f.Symbol(m.Low, true, m.From)
		f.GoType(addr.PC(m.Low), m.From, capture.GoAuxOfWord(1))
	}
	for _, s := range f.Stops() {
		f.Stack(s.Stack)
	}
	for _, name := range f.SourceFiles() {
		f.SourceLines(name)
	}
	if err := f.Damage(); err != nil {
		_ = err.Error()
	}
}

// plain is a capture with all sections stored, for a fuzzer to change.
func plain(t testing.TB, b []byte) []byte {
	return rewrite(t, b, func(kind chunkKind, payload []byte) (chunkKind, []byte) {
		var out []byte
		u := new(unpacker)
		for len(payload) > 0 {
			s, rest, err := nextSection(payload)
			if err != nil {
				t.Fatal(err)
			}
			data, err := u.unpack(s)
			if err != nil {
				t.Fatal(err)
			}
			out = appendStored(out, s.id, data)
			payload = rest
		}
		return kind, out
	})
}

// seedCaptures are captures of various kinds, small ones.
func seedCaptures(t testing.TB) [][]byte {
	small, _ := smallCapture(t)
	_, busy := session(t, 300)
	log := symbolLog()
	var symbols bytes.Buffer
	sym := capturetest.FakeSymbols{From: log, Files: map[string][]string{"/src/a.h": capturetest.Numbered("a.h", 45)}}
	if err := WriteSource(&symbols, log, sym); err != nil {
		t.Fatal(err)
	}
	var types bytes.Buffer
	log = typedLog()
	if err := WriteSource(&types, log, capturetest.FakeSymbols{From: log}); err != nil {
		t.Fatal(err)
	}
	var empty bytes.Buffer
	if err := WriteSource(&empty, NewLog(capture.Info{}), nil); err != nil {
		t.Fatal(err)
	}
	return [][]byte{small, busy, symbols.Bytes(), types.Bytes(), empty.Bytes()}
}

func FuzzOpen(f *testing.F) {
	for _, b := range seedCaptures(f) {
		f.Add(b)
		f.Add(b[:len(b)*2/3])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, checked := range []int64{0, checkedSize} {
			if c, err := newFile("fuzz.hdb", bytes.NewReader(b), int64(len(b)), checked); err == nil {
				visit(c)
			}
		}
	})
}

// mend corrects lengths and checksums, so that changes reach the decoders.
func mend(b []byte) []byte {
	if len(b) < headerSize {
		return b
	}
	b = append(appendFileHeader(nil), b[headerSize:]...)
	number := uint32(0)
	for off := headerSize; len(b)-off >= chunkHeaderSize; number++ {
		left := uint32(len(b) - off - chunkHeaderSize)
		length := min(binary.LittleEndian.Uint32(b[off+12:]), left)
		payload := b[off+chunkHeaderSize:][:length]
		h := chunkHeader{number, chunkKind(b[off+8]), length, checksum(payload)}
		copy(b[off:], h.append(nil))
		off += chunkHeaderSize + int(length)
	}
	return b
}

func FuzzOpenMended(f *testing.F) {
	for _, b := range seedCaptures(f) {
		f.Add(plain(f, b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		b = mend(b)
		if c, err := NewFile("fuzz.hdb", bytes.NewReader(b), int64(len(b))); err == nil {
			visit(c)
		}
	})
}

// Events that decode from anything must encode to the same events.
func FuzzEvents(f *testing.F) {
	for _, b := range seedCaptures(f) {
		rewrite(f, plain(f, b), func(kind chunkKind, payload []byte) (chunkKind, []byte) {
			if kind == chunkEvents {
				f.Add(payload)
			}
			return kind, payload
		})
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var d eventDecoder
		events, err := d.decode(nil, b)
		if err != nil {
			return
		}
		events = events[:min(len(events), eventsPerChunk)]
		var c eventEncoder
		var p packer
		for _, named := range []bool{false, true} {
			given := slices.Clone(events)
			if named {
				capturetest.NameMakers(given)
			}
			again, err := d.decode(nil, c.encode(nil, &p, given, nil))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(again, events) {
				t.Fatalf("makers named: %v: got %+v\nwant %+v", named, again, events)
			}
		}
	})
}
