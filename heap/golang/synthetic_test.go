package golang

import (
	"context"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"hdb/goruntime"
)

// A fakeMemory is the memory of a process, from fakeBase on.
type fakeMemory []byte

const fakeBase = 0xc000000000

func (m fakeMemory) ReadAt(b []byte, at int64) (int, error) {
	if at < fakeBase || at-fakeBase >= int64(len(m)) {
		return 0, io.EOF
	}
	n := copy(b, m[at-fakeBase:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (m fakeMemory) put(at, v uint64) { binary.LittleEndian.PutUint64(m[at-fakeBase:], v) }

// Where a fake has what. Spans come first, as large as they say.
const (
	atSmall   = fakeBase           // a span of slots of 32 bytes with pointers
	atHeaders = fakeBase + 1<<13   // of slots of 1024 bytes, with headers
	atNoScan  = fakeBase + 2<<13   // of shared slots
	atLarge   = fakeBase + 3<<13   // of one block
	atStack   = fakeBase + 7<<13   // a stack
	atHeap    = fakeBase + 8<<13   // mheap_
	atSpans   = fakeBase + 0x30000 // the slice of spans
	atSpan    = fakeBase + 0x31000 // structures of spans, 256 bytes each
	atBits    = fakeBase + 0x32000 // allocBits, all ones
	atTypes   = fakeBase + 0x33000 // descriptors
	atModule  = fakeBase + 0x34000 // moduledata
	atData    = fakeBase + 0x35000 // data and bss
	atMask    = fakeBase + 0x36000 // their masks
	atGs      = fakeBase + 0x37000 // allgs, and a g
	atSpecial = fakeBase + 0x38000 // specials
	atCode    = fakeBase + 0x39000 // functions, and their tables
	fakeBytes = 0x3a000
	atPair    = atTypes         // struct { p *pair; n int; q *pair; ... } of 48 bytes
	atPointer = atTypes + 0x100 // *pair
	atFields  = atTypes + 0x200 // of pair
	atNames   = atTypes + 0x300 // names
	atMasks   = atTypes + 0x400 // of pair: 5
)

// fake is a heap of a version with a block of each kind.
func fake(l goruntime.HeapLayout) (fakeMemory, Source) {
	m := make(fakeMemory, fakeBytes)
	small := func(at uint64, v byte) { m[at-fakeBase] = v }
	m.put(atHeap+uint64(l.AllSpans), atSpans)
	m.put(atHeap+uint64(l.AllSpans)+8, 5)
	span := func(i int, start, pages, elem, n, free uint64, class byte, state byte) uint64 {
		s := uint64(atSpan + 256*i)
		m.put(atSpans+8*uint64(i), s)
		m.put(s+uint64(l.StartAddr), start)
		m.put(s+uint64(l.NPages), pages)
		if l.Narrow {
			binary.LittleEndian.PutUint16(m[s-fakeBase+uint64(l.FreeIndex):], uint16(free))
			binary.LittleEndian.PutUint16(m[s-fakeBase+uint64(l.NElems):], uint16(n))
		} else {
			m.put(s+uint64(l.FreeIndex), free)
			m.put(s+uint64(l.NElems), n)
		}
		m.put(s+uint64(l.ElemSize), elem)
		m.put(s+uint64(l.AllocBits), atBits)
		small(s+uint64(l.SpanClass), class)
		small(s+uint64(l.State), state)
		return s
	}
	s := span(0, atSmall, 1, 32, 240, 4, 4<<1, goruntime.SpanInUse)
	m.put(s+uint64(l.Specials), atSpecial)
	span(1, atHeaders, 1, 1024, 8, 3, 32<<1, goruntime.SpanInUse)
	span(2, atNoScan, 1, 16, 504, 10, 2<<1|1, goruntime.SpanInUse)
	s = span(3, atLarge, 4, 4<<13, 1, 1, 0, goruntime.SpanInUse)
	if l.LargeType != 0 {
		m.put(s+uint64(l.LargeType), atPair)
	}
	span(4, atStack, 1, 0, 0, 0, 0, goruntime.SpanManual)
	m.put(atBits, 0xf0) // slots 4 to 7
	bits := uint64(atSmall + 1<<13 - 128)
	if l.InlineMarks {
		bits -= goruntime.InlineMarkBytes
	}
	m.put(bits, 0x5) // the first slot has pointers at 0 and 16
	m.put(atHeaders, atPair)
	m.put(atHeaders+1024, atPair)

	m.put(atPair, 48)
	m.put(atPair+8, 24)
	small(atPair+23, byte(Struct))
	m.put(atPair+32, atMasks)
	small(atMasks, 5)
	m.put(atPair+goruntime.TypeStr, 0x300)
	m.put(atPair+56, atFields)
	m.put(atPair+64, 3)
	for i, name := range []uint64{atNames + 16, atNames + 24, atNames + 32} {
		at := uint64(atFields + 24*i)
		m.put(at, name)
		m.put(at+8, atPointer)
		off := uint64(8 * i)
		if l.FieldBit {
			off <<= 1
		}
		m.put(at+16, off)
	}
	copy(m[atNames-fakeBase:], "\x00\x09main.pair")
	for i, name := range []string{"p", "n", "q"} {
		copy(m[atNames+16+8*i-fakeBase:], "\x00\x01"+name)
	}
	m.put(atPointer, 8)
	m.put(atPointer+8, 8)
	small(atPointer+23, byte(Ptr))
	m.put(atPointer+48, atPair)

	for i, v := range []uint64{atData, atData + 64, atData + 64, atData + 128, atData + 128, atData + 192, atData + 192, atData + 256} {
		m.put(atModule+uint64(l.NoPtrData)+8*uint64(i), v)
	}
	m.put(atModule+uint64(l.Types), atTypes)
	m.put(atModule+uint64(l.ETypes), atTypes+0x1000)
	m.put(atModule+uint64(l.GCDataMask), 8)
	m.put(atModule+uint64(l.GCDataMask)+8, atMask)
	m.put(atModule+uint64(l.GCBSSMask), 8)
	m.put(atModule+uint64(l.GCBSSMask)+8, atMask+8)
	small(atMask, 0x82)
	small(atMask+8, 1)

	m.put(atGs, atGs+64)
	m.put(atGs+8, 1)
	m.put(atGs+64, atGs+128)
	g := uint64(atGs + 128)
	m.put(g, atStack)
	m.put(g+8, atStack+4096)
	m.put(g+uint64(l.Sched), atStack+2048)
	m.put(g+uint64(l.GoID), 7)
	small(g+uint64(l.Status), 4)

	// The goroutine is in main.f, called by a function that is the last of its stack. Of main.f's frame of 40 bytes the
	// second word is a pointer, to a variable in the next two, of which the second is one; the first argument is none.
	m.put(atModule+uint64(l.NoPtrData)-16, atCode)
	for i, v := range []uint64{atCode + 0x400, 0x100, 0x100, atCode + 0x500, 0x300, 0x300, atCode + 0x800, 3, 3} { // pctab, pclntable, ftab
		m.put(atModule+uint64(l.PCTab)+8*uint64(i), v)
	}
	m.put(atModule+uint64(l.FuncNames), atCode+0x900)
	m.put(atModule+uint64(l.FuncNames)+8, 0x100)
	m.put(atModule+uint64(l.ROData), atCode+0xa00)
	m.put(atModule+uint64(l.ROData)+8, atCode+0xb00)
	half := func(at uint64, v uint32) { binary.LittleEndian.PutUint32(m[at-fakeBase:], v) }
	for i, v := range []uint32{0, 0, 0x100, 0x100, 0x200, 0} {
		half(atCode+0x800+4*uint64(i), v)
	}
	copy(m[atCode+0x900-fakeBase:], "main.f\x00main.top\x00")
	copy(m[atCode+0x401-fakeBase:], []byte{82, 0x80, 2, 0, 2, 0x80, 2, 0}) // 40, 0
	f := uint64(atCode + 0x500)
	for i, v := range []uint32{0, 0, 16, 0, 1, 0, 0, 2} { // 2 of pcdata
		half(f+4*uint64(i), v)
	}
	small(f+uint64(l.FuncHead)-1, 3)
	for i, v := range []uint32{0, 5, 0x10, 0x00, 0x20} { // pcdata, where arguments, locals and objects are
		half(f+uint64(l.FuncHead)+4*uint64(i), v)
	}
	for i, v := range []uint32{1, 4, 0b10, 0, 1, 2, 0b00, 0, 1, 0} { // one map of 4 locals, one of 2 arguments, an object
		half(atCode+0xb00+4*uint64(i), v)
	}
	objectOff := int32(-16)
	for i, v := range []uint32{uint32(objectOff), 16, 16, 0x10} {
		half(atCode+0xb28+4*uint64(i), v)
	}
	small(atCode+0xa10, 0b10)
	f = atCode + 0x600
	for i, v := range []uint32{0x100, 7, 0, 0, 5, 0, 0, 0} {
		half(f+4*uint64(i), v)
	}
	small(f+uint64(l.FuncHead)-3, flagTopFrame)
	m.put(g+uint64(l.Sched)+8, atCode+0x50)
	m.put(atStack+2048+8, atStack+2048+16)
	m.put(atStack+2048+40, atCode+0x150)

	m.put(atSpecial+8, 32)
	small(atSpecial+uint64(l.SpecialKind), byte(l.Finalizer))
	m.put(atSpecial+uint64(l.SpecialBody), atSmall+64)
	return m, Source{Memory: m, Layout: l, Heap: atHeap, Modules: atModule, AllGs: atGs}
}

func layout(t testing.TB, minor string) goruntime.HeapLayout {
	l, err := goruntime.Of("go1." + minor)
	if err != nil {
		t.Fatal(err)
	}
	return l.Heap()
}

// TestSynthetic reads heaps of all layouts since Go 1.22, which have all of a block in its span.
func TestSynthetic(t *testing.T) {
	for _, minor := range []string{"22", "23", "24", "25", "26", "27"} {
		t.Run(minor, func(t *testing.T) {
			_, src := fake(layout(t, minor))
			h, err := Open(context.Background(), src)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := h.Sum(), (Sum{4 + 4 + 3 + 4 + 10 + 1, 8*32 + 7*1024 + 10*16 + 4<<13}); h.Torn() != 0 || got != want {
				t.Errorf("%+v, want %+v; %d torn", got, want, h.Torn())
			}
			if n := len(slices.Collect(h.Blocks())); n != h.Sum().Slots {
				t.Errorf("%d blocks", n)
			}
			p := h.Pointers(src.Memory)
			for at, want := range map[uint64]Sight{
				atSmall: Pointer, atSmall + 8: NoPointer, atSmall + 16: Pointer, atHeaders: NoPointer, atHeaders + 8: Pointer, atHeaders + 16: NoPointer, atHeaders + 24: Pointer,
				atHeaders + 56: Pointer, atHeaders + 1024 + 8: Pointer, atHeaders + 2048 + 8: NoPointer, atNoScan: NoPointer, atLarge: Pointer, atLarge + 8: NoPointer,
				atLarge + 48: Pointer, atStack: NoPointer, fakeBase + 1<<30: Elsewhere,
			} {
				if got := p.At(at, nil, 0); got != want {
					t.Errorf("%#x: %d, want %d", at-fakeBase, got, want)
				}
			}
			for at, want := range map[uint64]Sight{atData: NoPointer, atData + 64: NoPointer, atData + 72: Pointer, atData + 120: Pointer, atData + 128: Pointer, atData + 136: NoPointer, atData + 200: NoPointer, atData + 256: Elsewhere} {
				if got := h.Global(at); got != want {
					t.Errorf("data %#x: %d, want %d", at-atData, got, want)
				}
			}
			roots := h.Roots()
			if len(roots) != 3 || !reflect.DeepEqual(roots[:2], []Root{
				{Kind: OfStack, Goroutine: 7, Start: atStack + 2048, End: atStack + 4096, seen: []uint64{0b1010, 0, 0, 0}},
				{Kind: OfFinalizer, Value: atSmall + 32, Of: atSmall + 32},
			}) || roots[2].Value != atSmall+64 {
				t.Errorf("roots %+v", roots)
			}
			typ := h.TypeOf(atHeaders + 8)
			if typ == nil || typ.Name != "main.pair" || h.Types.Member(Content{typ, true}, 48+16) != "[1].q" {
				t.Errorf("type %+v", typ)
			}
			if to, ok := h.Types.Target(Content{Type: typ}, 16, nil); !ok || to.Type != typ || to.Array {
				t.Errorf("q leads to %+v", to)
			}
		})
	}
}

// counting counts what is read of memory. It is for one goroutine.
type counting struct {
	io.ReaderAt
	reads int
}

func (m *counting) ReadAt(b []byte, at int64) (int, error) {
	m.reads++
	return m.ReaderAt.ReadAt(b, at)
}

// maxReads bounds what ask reads: it asks of each word of memory, and a few hundred types.
const maxReads = 1 << 18

// ask asks all of a heap that memory may say anything of.
func ask(t *testing.T, src Source) {
	memory := &counting{ReaderAt: src.Memory}
	src.Memory = memory
	h, err := Open(context.Background(), src)
	if err != nil {
		return
	}
	end := uint64(0)
	for b := range h.Blocks() {
		if b.Addr < end || b.Size == 0 {
			t.Fatalf("block %#x of %d bytes behind %#x", b.Addr, b.Size, end)
		}
		end = b.Addr + b.Size
		if b.Addr > fakeBase+fakeBytes {
			break
		}
	}
	p := h.Pointers(src.Memory)
	for at := uint64(fakeBase); at < fakeBase+fakeBytes; at += 8 {
		p.At(at, nil, 0)
		h.Global(at)
		if s := h.at(at); h.Shared(at) && (s.elem != SharedBytes || at >= s.end()) {
			t.Fatalf("%#x in %+v", at, s)
		}
		if at%512 != 0 {
			continue
		}
		for _, typ := range []*Type{h.TypeOf(at), h.Types.At(at), h.Types.At(uint64(atPair) + at%0x400)} {
			if typ == nil {
				continue
			}
			c := Content{Type: typ, Array: at%1024 == 0}
			h.Types.Member(c, at%128)
			h.Types.Target(c, at%128&^7, func(off uint64) uint64 { return h.mem.Word(at + off) })
		}
	}
	h.Scanned(fakeBase, fakeBase+fakeBytes, func(low, high uint64) {
		if low >= high {
			t.Fatalf("part %#x to %#x", low, high)
		}
	})
	if memory.reads > maxReads {
		t.Fatalf("memory was read %d times", memory.reads)
	}
}

// FuzzHeap changes words of a heap: four bytes of place and value each.
func FuzzHeap(f *testing.F) {
	f.Add(uint8(0), []byte{})
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		b := make([]byte, 8*r.IntN(8))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		f.Add(uint8(r.Uint32()), b)
	}
	f.Fuzz(func(t *testing.T, minor uint8, changes []byte) {
		l, err := goruntime.Of("go1." + []string{"18", "19", "20", "21", "22", "23", "24", "25", "26", "27"}[minor%10])
		if err != nil {
			t.Fatal(err)
		}
		m, src := fake(l.Heap())
		for ; len(changes) >= 8; changes = changes[8:] {
			at := (fakeBase + uint64(binary.LittleEndian.Uint32(changes))%fakeBytes) &^ 7
			v := uint64(binary.LittleEndian.Uint32(changes[4:]))
			switch v % 4 { // often an address, or a small number
			case 0:
				v = fakeBase + v%fakeBytes
			case 1:
				v %= 1024
			case 2:
				v |= v << 32
			}
			m.put(min(at, fakeBase+fakeBytes-8), v)
		}
		ask(t, src)
	})
}

// TestHostile changes the words of structures at random.
func TestHostile(t *testing.T) {
	places := []uint64{atHeap + 65800, atSpans, atSpan, atTypes, atModule, atGs, atSpecial, atBits, atCode + 0x400, atCode + 0x800, atStack + 2048}
	rounds := 2000
	if testing.Short() {
		rounds = 200
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 3))
		l := layout(t, []string{"18", "20", "21", "22", "24", "26", "27"}[r.IntN(7)])
		m, src := fake(l)
		for range 1 + r.IntN(6) {
			at := min((places[r.IntN(len(places))]+uint64(r.IntN(0x400)))&^7, fakeBase+fakeBytes-8)
			m.put(at, []uint64{r.Uint64(), fakeBase + r.Uint64N(fakeBytes), r.Uint64N(4096), 1 << r.IntN(64), atHeaders, atPair}[r.IntN(6)])
		}
		ask(t, src)
	}
}
