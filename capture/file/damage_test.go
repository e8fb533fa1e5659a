package file

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"hdb/capture"
	"hdb/capture/capturetest"
	"hdb/internal/addr"
)

// smallCapture has several chunks of each kind, events in three of them.
func smallCapture(t testing.TB) (b []byte, events []capture.Event) {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, capturetest.SampleInfo)
	if err != nil {
		t.Fatal(err)
	}
	for part := range 3 {
		w.FuncIndex(fmt.Sprint("alloc", part))
		w.AddThread(capture.Thread{TID: 7, Num: 1, Name: fmt.Sprint("thread", part)})
		w.AddModule(capture.Module{Path: fmt.Sprint("lib", part), Low: addr.Run(part << 12), High: addr.Run((part + 1) << 12)})
		for i := range 4 {
			id := w.Intern(capture.Stack{PCs: []addr.Run{addr.Run(part), addr.Run(i), 0x1000}})
			e := capture.Event{Kind: capture.Alloc, Func: uint16(part), Addr: uint64(0x1000*part + 0x20*i + 16), Size: uint64(i + 1), TID: 7, Stack: id}
			w.AddEvent(&e)
			var kept capture.Event
			storeEvent(&kept, &e, uint64(len(events)))
			events = append(events, kept)
		}
		w.AddStop(capture.StopRecord{Seq: w.seq, Text: fmt.Sprint("stop ", part)})
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), events
}

// readAll are the events of a file, each of which must be one of want, with its
// stack and function.
func readAll(t *testing.T, f *File, want []capture.Event) []capture.Event {
	t.Helper()
	got := slices.Collect(f.Events(0))
	for _, e := range got {
		if e != want[e.Seq-1] {
			t.Fatalf("wrong event %+v, want %+v", e, want[e.Seq-1])
		}
		part, i := (e.Seq-1)/4, (e.Seq-1)%4
		if s := f.Stack(e.Stack); s.Truncated == "" && (s.PCs[0] != addr.Run(part) || s.PCs[1] != addr.Run(i)) {
			t.Fatalf("event #%d has the stack %v", e.Seq, s.PCs)
		}
		if names := f.Functions(); int(e.Func) < len(names) && names[e.Func] != "" && names[e.Func] != fmt.Sprint("alloc", part) {
			t.Fatalf("event #%d has the function %q", e.Seq, names[e.Func])
		}
	}
	return got
}

func TestCutOffAnywhere(t *testing.T) {
	b, want := smallCapture(t)
	whole := readBack(t, b)
	for n := range b {
		f, err := NewFile("cut.hdb", bytes.NewReader(b[:n]), int64(n))
		if n < headerSize {
			var not *capture.NotCaptureError
			if !errors.As(err, &not) {
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		got := readAll(t, f, want)
		expect := 0 // events of the chunks that are whole
		for _, ref := range whole.events {
			h, err := whole.chunks.header(ref.offset)
			if err != nil {
				t.Fatal(err)
			}
			if ref.offset+chunkHeaderSize+int64(h.length) <= int64(n) {
				expect += ref.count
			}
		}
		if len(got) != expect || f.Len() != expect {
			t.Fatalf("%d bytes: %d events, want %d", n, len(got), expect)
		}
		for _, e := range got {
			if s := f.Stack(e.Stack); s.Truncated != "" {
				t.Fatalf("%d bytes: event #%d lost its stack: %s", n, e.Seq, s.Truncated)
			}
		}
		var d *capture.DamageError
		if !errors.As(f.Check(), &d) || len(d.Lost) != 1 || d.Events != expect {
			t.Fatalf("%d bytes: damage is %+v", n, d)
		}
		if end := d.Lost[0].Offset + d.Lost[0].Length; end != int64(n) {
			t.Fatalf("%d bytes: %s: up to byte %d", n, d, end)
		}
	}
}

func TestDamageSaysWhatIsLost(t *testing.T) {
	b, _ := smallCapture(t)
	whole := readBack(t, b)
	second := whole.events[1].offset
	end := whole.events[2].offset
	flipped := func(at int64) []byte {
		c := bytes.Clone(b)
		c[at] ^= 1
		return c
	}
	for _, tc := range []struct {
		name, want string
		data       []byte
	}{
		{"cut between chunks", "x.hdb: not closed (the recorder was killed or is still writing); 4 events can be read, #1 to #4", b[:second]},
		{"cut in a header", fmt.Sprintf("x.hdb: cut off at byte %d inside the header of a chunk; 4 events can be read, #1 to #4", second+5), b[:second+5]},
		{"cut in events", fmt.Sprintf("x.hdb: cut off at byte %d inside a chunk (events #5 to #8): 40 of its", second+chunkHeaderSize+40), b[:second+chunkHeaderSize+40]},
		{"cut in events, count", "; at least 4 events are missing; 4 events can be read, #1 to #4", b[:second+chunkHeaderSize+40]},
		{"flip in events", fmt.Sprintf("(events) at byte %d is damaged; 4 events are missing; 8 events can be read, #1 to #12", second), flipped(second + 60)},
		{"flip in a chunk's header", fmt.Sprintf("x.hdb: bytes %d to ", second), flipped(second + 9)},
		{"no events left", "; no event can be read", b[:whole.events[0].offset+30]},
		{"flip in the file's header", "x.hdb: the file's header is damaged; 12 events can be read, #1 to #12", flipped(9)},
		{"bytes left out", "; 4 events are missing; 8 events can be read", slices.Concat(b[:second+50], b[second+57:])},
		{"bytes put in", "; 4 events are missing; 8 events can be read", slices.Concat(b[:second+50], []byte("hello"), b[second+50:])},
		{"chunks left out", "instead of chunk", slices.Concat(b[:second], b[end:])},
		{"flip and cut", "is damaged; not closed (the recorder was killed or is still writing); 4 events can be read", flipped(second + 60)[:end]},
		{"garbage behind", "are damaged; 12 events", slices.Concat(b, bytes.Repeat([]byte{0}, 100))},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f, err := NewFile("x.hdb", bytes.NewReader(tc.data), int64(len(tc.data)))
			if err != nil {
				t.Fatal(err)
			}
			err = f.Damage()
			if err == nil {
				t.Fatal("no damage")
			}
			if !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("damage is %q,\nwant %q", err, tc.want)
			}
		})
	}
}

func TestFlippedBitsAreDetected(t *testing.T) {
	b, want := smallCapture(t)
	for i := range b {
		for _, bit := range []int{i % 8, (i + 3) % 8} { // all eight take long with the race detector
			c := bytes.Clone(b)
			c[i] ^= 1 << bit
			f, err := NewFile("flip.hdb", bytes.NewReader(c), int64(len(c)))
			if err != nil {
				t.Fatalf("byte %d, bit %d: %v", i, bit, err)
			}
			got := readAll(t, f, want)
			if err := f.Check(); err == nil {
				t.Fatalf("byte %d, bit %d: not detected", i, bit)
			}
			if len(got) < 8 {
				t.Fatalf("byte %d, bit %d: lost more than one chunk: %v", i, bit, f.Damage())
			}
			// A large file is not read as a whole, but gives no wrong events either.
			f, err = newFile("flip.hdb", bytes.NewReader(c), int64(len(c)), 0)
			if err != nil {
				t.Fatalf("byte %d, bit %d: %v", i, bit, err)
			}
			readAll(t, f, want)
			if err := f.Check(); err == nil {
				t.Fatalf("byte %d, bit %d: not detected by Check", i, bit)
			}
		}
	}
}

// An index that lies about the chunks is as bad as chunks that are damaged.
func TestIndexMustAgreeWithChunks(t *testing.T) {
	b, want := smallCapture(t)
	whole := readBack(t, b)
	refs, err := whole.chunks.readIndex()
	if err != nil {
		t.Fatal(err)
	}
	start := len(b) - int(binary.LittleEndian.Uint32(b[len(b)-4:]))
	for i, ref := range refs {
		for name, lie := range map[string]func(*chunkRef){
			"count":  func(r *chunkRef) { r.count++ },
			"first":  func(r *chunkRef) { r.first++ },
			"last":   func(r *chunkRef) { r.last++ },
			"offset": func(r *chunkRef) { r.offset += 2 },
			"kind":   func(r *chunkRef) { r.kind = chunkStops },
		} {
			lies := slices.Clone(refs)
			lie(&lies[i])
			payload := appendIndex(nil, new(packer), lies)
			h := chunkHeader{number: uint32(len(refs)), kind: chunkIndex, length: uint32(len(payload)), crc: checksum(payload)}
			c := append(h.append(bytes.Clone(b[:start])), payload...)
			f, err := newFile("lie.hdb", bytes.NewReader(c), int64(len(c)), 0)
			if err != nil {
				t.Fatal(err)
			}
			readAll(t, f, want)
			counted := ref.kind == chunkEvents || ref.kind == chunkStacks && name != "last"
			if (counted || name == "offset") && f.Check() == nil {
				t.Errorf("wrong %s of chunk %d (%v) is not noticed", name, i, ref.kind)
			}
		}
	}
}

// Many goroutines read one file; the race detector watches.
func TestFileIsReadByMany(t *testing.T) {
	log, b := session(t, 2*eventsPerChunk)
	f := readBack(t, b)
	want := slices.Collect(log.Events(0))
	step := 9973
	if testing.Short() { // four readers from a quarter of the places
		step *= 4
	}
	var readers sync.WaitGroup
	for k := range 4 {
		readers.Go(func() {
			for i := k; i < len(want); i += step {
				if e, ok := f.Event(uint64(i + 1)); !ok || e != want[i] {
					t.Errorf("event #%d is %+v, %v", i+1, e, ok)
				}
				f.Stack(want[i].Stack)
				f.Symbol(0x555555555000, true, uint64(i))
			}
			n := 0
			for range f.Events(0) {
				n++
			}
			if err := f.Damage(); err != nil || n != len(want) {
				t.Errorf("%d events, %v", n, err)
			}
		})
	}
	readers.Wait()
}

// rewrite copies a capture, with its chunks changed by f. The checksums are
// right again, and the index is left out.
func rewrite(t testing.TB, b []byte, f func(kind chunkKind, payload []byte) (chunkKind, []byte)) []byte {
	t.Helper()
	out := bytes.Clone(b[:headerSize])
	number := uint32(0)
	for off := headerSize; off < len(b); {
		h, ok := parseChunkHeader(b[off:])
		if !ok {
			t.Fatalf("no chunk at byte %d", off)
		}
		payload := b[off+chunkHeaderSize:][:h.length]
		off += chunkHeaderSize + len(payload)
		if h.kind == chunkIndex {
			continue
		}
		kind, payload := f(h.kind, payload)
		out = append(chunkHeader{number, kind, uint32(len(payload)), checksum(payload)}.append(out), payload...)
		number++
	}
	return out
}

func TestUnknownKindsAndSectionsAreSkipped(t *testing.T) {
	b, want := smallCapture(t)
	b = rewrite(t, b, func(kind chunkKind, payload []byte) (chunkKind, []byte) {
		if kind == chunkStops {
			return 200, []byte("whatever a later version puts here")
		}
		payload = appendStored(bytes.Clone(payload), 99, []byte("a later column"))
		return kind, appendSection(payload, 77, 5, 1<<40, []byte("in a later encoding"))
	})
	f := readBack(t, b)
	if got := readAll(t, f, want); len(got) != len(want) || len(f.Stops()) != 0 {
		t.Errorf("%d events, %d stops", len(got), len(f.Stops()))
	}
	if err := f.Check(); err == nil || !strings.HasPrefix(err.Error(), "test.hdb: not closed") {
		t.Errorf("damage is %v", err)
	}
}

// TestSectionsTakeNoMoreThanTheyMay: a few bytes that unpack to a section again
// and again, or to a dictionary for events that are not there, are refused.
func TestSectionsTakeNoMoreThanTheyMay(t *testing.T) {
	var p packer
	var c eventEncoder
	large := p.appendPacked(nil, secTIDs, make([]byte, maxSection))
	events := []capture.Event{{Seq: 1, Kind: capture.Free, Addr: 16}}
	for _, test := range []struct {
		payload []byte
		want    string
	}{
		{append(c.encode(nil, &p, events, nil), large...), "section 3: there twice"},
		{replaceSection(t, c.encode(nil, &p, events, nil), secTIDs, large), "a dictionary has 16777216 entries for 1 events"},
	} {
		var d eventDecoder
		if _, err := d.decode(nil, test.payload); err == nil || err.Error() != test.want {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}

// replaceSection is the payload with another section in the place of one.
func replaceSection(t *testing.T, payload []byte, id int, other []byte) (out []byte) {
	t.Helper()
	for len(payload) > 0 {
		s, rest, err := nextSection(payload)
		if err != nil {
			t.Fatal(err)
		}
		if s.id != id {
			out = append(out, payload[:len(payload)-len(rest)]...)
		}
		payload = rest
	}
	return append(out, other...)
}

func TestRecordsMayGetMoreFields(t *testing.T) {
	var w recordWriter
	w.uvarint(0)
	w.string("malloc")
	w.string("a field of a later version")
	w.end()
	w.uvarint(1) // and one that lacks its name
	w.end()
	u := new(unpacker)
	s, err := u.sections(w.append(nil, new(packer)))
	if err != nil {
		t.Fatal(err)
	}
	r, err := newRecordReader(s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for r.next() {
		i, name := r.function()
		got = append(got, fmt.Sprint(i, name))
	}
	if want := []string{"0malloc", "1"}; r.err() != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, r.err())
	}
}

func TestVersions(t *testing.T) {
	b, _ := smallCapture(t)
	withVersion := func(major, minor uint16) []byte {
		c := bytes.Clone(b)
		binary.LittleEndian.PutUint16(c[8:], major)
		binary.LittleEndian.PutUint16(c[10:], minor)
		binary.LittleEndian.PutUint32(c[12:], checksum(c[:12]))
		return c
	}
	f, err := NewFile("x.hdb", bytes.NewReader(withVersion(2, 7)), int64(len(b)))
	if err != nil || f.Info().Version != "2.7" || f.Damage() != nil {
		t.Errorf("newer minor version: %v", err)
	}
	_, err = NewFile("x.hdb", bytes.NewReader(withVersion(3, 0)), int64(len(b)))
	var other *capture.VersionError
	if !errors.As(err, &other) || other.Major != 3 ||
		err.Error() != "x.hdb: capture format 3.0; this hdb reads 2.2: use the hdb that wrote it" {
		t.Errorf("newer major version: %v", err)
	}
	_, err = NewFile("x.hdb", bytes.NewReader(withVersion(1, 5)), int64(len(b)))
	if !errors.As(err, &other) || other.Major != 1 {
		t.Errorf("older major version: %v", err)
	}
}

func TestNotACapture(t *testing.T) {
	dir := t.TempDir()
	for _, tc := range []struct{ name, data, want string }{
		{"empty", "", "not an hdb capture but an empty file"},
		{"elf", "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 50), "not an hdb capture but an ELF file: hdb PROG starts a program"},
		{"text", "hello\nworld, this is a text\n", "not an hdb capture but a text"},
		{"gzip", "\x1f\x8b\x08" + strings.Repeat("\x00", 50), "not an hdb capture but a file compressed by gzip: unpack it first: gunzip"},
		{"memray", "memray\x00" + strings.Repeat("\x01", 50), "not an hdb capture but a capture of memray"},
		{"noise", strings.Repeat("\x01\xff\x02", 30), "not an hdb capture but something else"},
		{"header cut", magic[:5], "not an hdb capture but the first bytes of one: nothing was recorded"},
	} {
		path := filepath.Join(dir, tc.name)
		if err := os.WriteFile(path, []byte(tc.data), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if err == nil || !strings.HasPrefix(err.Error(), path+": "+tc.want) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
	if _, err := Open(dir); err == nil || err.Error() != dir+": not an hdb capture but a directory" {
		t.Errorf("directory: %v", err)
	}
	if _, err := Open(filepath.Join(dir, "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// TestNoSuchBlock: what names a block that there is not is refused.
func TestNoSuchBlock(t *testing.T) {
	shapes := []byte{byte(capture.Alloc), shapeAddr | shapeSize, 0, byte(capture.Free), shapeAddr | shapeSize, 1}
	op := func(shape, moves uint64) []byte {
		return binary.AppendUvarint(binary.AppendUvarint(nil, shape), moves)
	}
	first := op(0, moveSize|placeLiteral<<movePlace)
	for what, c := range map[string]struct {
		second, third []byte // ops
		id            int    // of a column
		column        []byte
		want          string
	}{
		"ended twice":        {op(1, refAge<<moveRef), op(1, refAge<<moveRef), secAge, []byte{1, 2}, "event 2 of the chunk: no such block"},
		"no allocation":      {op(1, refAge<<moveRef), op(1, refAge<<moveRef), secAge, []byte{1, 1}, "event 2 of the chunk: no such block"},
		"before the chunk":   {op(1, refAge<<moveRef), nil, secAge, []byte{2, 2}, "event 1 of the chunk: no such block"},
		"the event itself":   {op(1, refAge<<moveRef), nil, secAge, []byte{0, 2}, "event 1 of the chunk: no such block"},
		"none is next":       {op(1, refNext<<moveRef), op(1, refNext<<moveRef), secAge, nil, "event 2 of the chunk: no such block"},
		"an empty free list": {op(0, placeTop<<movePlace), nil, secAge, nil, "place: 0 below the top names no block"},
		"none so deep":       {op(1, refNext<<moveRef), op(0, placeDeeper<<movePlace), secDepth, []byte{1}, "place: 1 below the top names no block"},
	} {
		if c.third == nil {
			c.third = c.second
		}
		payload := appendStored(nil, secHead, eventHead{count: 3, first: 1, last: 3}.append(nil))
		for _, s := range []struct {
			id   int
			data []byte
		}{
			{secShapes, shapes}, {secTIDs, []byte{2}}, {secOps, slices.Concat(first, c.second, c.third)}, {secOp, []byte{0, 1, 2}},
			{secSize, []byte{24}}, {secPlaced, []byte{2}}, {c.id, c.column},
		} {
			if s.data != nil {
				payload = appendStored(payload, s.id, s.data)
			}
		}
		_, err := new(eventDecoder).decode(nil, payload)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", what, err)
		}
	}
}
