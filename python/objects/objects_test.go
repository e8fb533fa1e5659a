package objects

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/python"
	"hdb/python/layout"
)

// base is where the memory of a fake process begins.
const base = 0x100000

// A fake is the memory of a process in which CPython 3.12 has a few types and one interpreter.
type fake struct {
	b    []byte
	next addr.Run

	interpreter                 addr.Run
	meta, object, list, decimal addr.Run
	last                        addr.Run // the head of the object that was tracked last
	head                        addr.Run // of generation 2
}

func (f *fake) ReadAt(b []byte, at int64) (int, error) {
	if at < base || at >= base+int64(len(f.b)) {
		return 0, io.ErrUnexpectedEOF
	}
	if n := copy(b, f.b[at-base:]); n < len(b) {
		return n, io.ErrUnexpectedEOF
	}
	return len(b), nil
}

func (f *fake) put(at addr.Run, n uint64) { binary.LittleEndian.PutUint64(f.b[at-base:], n) }
func (f *fake) word(at addr.Run) uint64   { return binary.LittleEndian.Uint64(f.b[at-base:]) }

func (f *fake) room(n int) addr.Run {
	at := f.next
	f.next += addr.Run(n+15) &^ 15
	return at
}

// Offsets of 3.12.
const (
	gcGenerations  = 24
	generationSize = 24
	gcPermanent    = 104

	headSize      = 16
	objectType    = 8
	varSize       = 16
	typeName      = 24
	typeBasic     = 32
	typeItem      = 40
	typeFlags     = 168
	typeBase      = 256
	listItems     = 24
	listAllocated = 32
	listSize      = 40
)

// Symbols of the fake.
const (
	runtimeAt = base + 0x100
	versionAt = base + 0x80
)

func newFake(size int) *fake {
	f := &fake{b: make([]byte, size), next: base + 0x1000}
	f.put(versionAt, 0x030c01f0)
	f.interpreter = f.room(4096)
	f.put(runtimeAt+40, uint64(f.interpreter))
	gc := f.interpreter + 112
	for _, at := range []addr.Run{gcGenerations, gcGenerations + generationSize, gcGenerations + 2*generationSize, gcPermanent} {
		head := gc + at
		f.put(head, uint64(head))
		f.put(head+8, uint64(head))
	}
	f.head = gc + gcGenerations + 2*generationSize
	f.last = f.head
	f.meta = f.typ("type", layout.IsType|layout.HasGC, 920, 40, 0)
	f.object = f.typ("object", 0, 16, 0, 0)
	f.put(f.meta+typeBase, uint64(f.object))
	f.list = f.typ("list", layout.IsList|layout.HasGC, listSize, 0, f.object)
	f.decimal = f.typ("float", 0, 24, 0, f.object)
	return f
}

func (f *fake) typ(name string, flags, basic, item uint64, of addr.Run) addr.Run {
	text := f.room(len(name) + 1)
	copy(f.b[text-base:], name)
	at := f.room(920)
	if f.meta == 0 {
		f.meta = at
	}
	f.put(at, 1)
	f.put(at+objectType, uint64(f.meta))
	f.put(at+typeName, uint64(text))
	f.put(at+typeBasic, basic)
	f.put(at+typeItem, item)
	f.put(at+typeFlags, flags|layout.IsReady)
	f.put(at+typeBase, uint64(of))
	return at
}

// tracked makes an object that the collector tracks.
func (f *fake) tracked(t addr.Run, size int) addr.Run {
	head := f.room(headSize + size)
	f.put(f.last, uint64(head))
	f.put(head+8, uint64(f.last))
	f.put(head, uint64(f.head))
	f.put(f.head+8, uint64(head))
	f.last = head
	f.put(head+headSize, 1)
	f.put(head+headSize+objectType, uint64(t))
	return head + headSize
}

// listOf makes a list of new floats.
func (f *fake) listOf(n int) addr.Run {
	at := f.tracked(f.list, listSize)
	items := f.room(8 * n)
	f.put(at+varSize, uint64(n))
	f.put(at+listItems, uint64(items))
	f.put(at+listAllocated, uint64(n))
	for i := range n {
		x := f.room(24)
		f.put(x, 1)
		f.put(x+objectType, uint64(f.decimal))
		f.put(items+addr.Run(8*i), uint64(x))
	}
	return at
}

func (f *fake) open(t testing.TB) *Heap { return openAt(t, f, f.meta, 100) }

func symbolsOf(meta addr.Run) python.Symbols {
	return func(name string) (addr.Run, bool) {
		at, ok := map[string]addr.Run{"_PyRuntime": runtimeAt, "Py_Version": versionAt, "PyType_Type": meta, "PyCode_Type": 0x20000}[name]
		return at, ok
	}
}

// openAt opens the heap of a memory, for some looks at whether the answer is waited for.
func openAt(t testing.TB, mem python.Memory, meta addr.Run, looks int) *Heap {
	t.Helper()
	symbols := symbolsOf(meta)
	in, err := python.Open(mem, symbols)
	if err != nil {
		t.Fatal(err)
	}
	h, err := Open(in, mem, symbols, func() bool { looks--; return looks < 0 })
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestCensus(t *testing.T) {
	f := newFake(1 << 20)
	a := f.listOf(100)
	f.listOf(3)
	f.put(a+listAllocated, 120)
	c, err := f.open(t).Census(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"list": "2 1096 2", "float": "103 2472 0"}
	for _, x := range c.Types {
		if got := fmt.Sprint(x.Objects, x.Bytes, x.Tracked); got != want[x.Name] || x.Torn != 0 {
			t.Errorf("%s: %s, want %s", x.Name, got, want[x.Name])
		}
		delete(want, x.Name)
	}
	if len(want) > 0 || c.Torn != nil || c.Cut != nil || c.Objects != 105 {
		t.Errorf("%+v; not there: %v", c, want)
	}
}

// TestDamage has what is not whole told of, and what is whole counted.
func TestDamage(t *testing.T) {
	for _, c := range []struct {
		name    string
		damage  func(f *fake, list addr.Run)
		torn    string
		strange int
		sizes   int // that are nonsense
		objects int
	}{
		{"circle", func(f *fake, list addr.Run) { f.put(list-headSize, uint64(list-headSize)) }, "generation 2: object 1 at", 0, 0, 11},
		{"unmapped", func(f *fake, list addr.Run) { f.put(list-headSize, 0x99999990) }, "generation 2: object 1: read 0x99999990", 0, 0, 11},
		{"no type", func(f *fake, list addr.Run) { f.put(list+objectType, 0x1000) }, "", 1, 0, 11},
		{"no references", func(f *fake, list addr.Run) { f.put(list, 0) }, "", 1, 0, 11},
		{"long list", func(f *fake, list addr.Run) { f.put(list+varSize, 1<<62) }, "", 0, 0, 12},
		{"large list", func(f *fake, list addr.Run) { f.put(list+listAllocated, 1<<62) }, "", 0, 1, 22},
		{"no items", func(f *fake, list addr.Run) { f.put(list+listItems, 8) }, "", 0, 0, 12},
		{"itself", func(f *fake, list addr.Run) { f.put(list+listItems, uint64(list)) }, "", 0, 0, 18},
		{"huge base", func(f *fake, list addr.Run) {
			text := f.typ("float", 0, math.MaxInt64, 0, f.object)
			f.put(list+objectType, uint64(f.typ("Mine", layout.IsHeapType|layout.HasGC, 32, 0, text)))
		}, "", 0, 0, 12},
	} {
		f := newFake(1 << 16)
		a := f.listOf(10)
		f.listOf(10)
		c.damage(f, a)
		got, err := f.open(t).Census(nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		torn := ""
		if got.Torn != nil {
			torn = got.Torn.Error()
		}
		sizes := 0
		for _, x := range got.Types {
			sizes += x.Torn
		}
		if !strings.HasPrefix(torn, c.torn) || c.torn == "" && torn != "" || got.Strange != c.strange || sizes != c.sizes || got.Objects != c.objects {
			t.Errorf("%s: torn %q, %d strange, %d sizes, %d objects of %v", c.name, torn, got.Strange, sizes, got.Objects, got.Types)
		}
	}
}

func TestReferrersOfAFake(t *testing.T) {
	f := newFake(1 << 20)
	a, b := f.listOf(100), f.listOf(3)
	target := f.word(addr.Run(f.word(a+listItems)) + 8*42)
	f.put(addr.Run(f.word(b+listItems))+8, target)
	f.put(addr.Run(target), 2)
	r, err := f.open(t).Referrers(addr.Run(target))
	if err != nil || r.Total != 2 || r.Count != 2 || len(r.List) != 2 || r.List[0].Text != "list[42]" || r.List[1].Text != "list[1]" || r.List[1].At != b {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := f.open(t).Referrers(a + 8); err == nil {
		t.Error("the middle of an object is taken for one")
	}
	if _, err := f.open(t).Path(addr.Run(target)); !errors.Is(err, ErrUnreached) {
		t.Error(err)
	}
}

// TestUnreached has objects in blocks counted to which nothing leads, and what they refer to; arrays of pointers and objects
// that do not fit are none.
func TestUnreached(t *testing.T) {
	f := newFake(1 << 20)
	reached := f.listOf(3)
	block := func(size int, words ...uint64) addr.Run {
		at := f.room(size)
		for i, w := range words {
			f.put(at+addr.Run(8*i), w)
		}
		return at
	}
	type piece struct {
		at   addr.Run
		size uint64
	}
	x := block(32, 1, uint64(f.decimal))
	pieces := []piece{
		{x, 32},
		{addr.Run(f.word(reached + listItems)), 32},
		{addr.Run(f.word(addr.Run(f.word(reached + listItems)))), 32},                                           // that is in the list
		{block(64, 0, 0, 1, uint64(f.list), 1, uint64(block(16, uint64(block(32, 1, uint64(f.decimal)))))), 64}, // behind the collector's head
		{block(32, uint64(f.meta)<<8, uint64(f.decimal)), 32},                                                   // two pointers
		{block(16, 1, uint64(f.decimal)), 16},                                                                   // too small
		{block(32, 0, uint64(f.decimal)), 32},                                                                   // that has ended
		{block(48, 0, 0, 1, uint64(f.list)), 48},                                                                // too small for a list
		{block(32, 7, 9), 32},
	}
	c, err := f.open(t).Census(func(yield func(at addr.Run, size uint64) bool) error {
		for _, p := range pieces {
			yield(p.at, p.size)
		}
		return nil
	})
	if err != nil || c.Pools != nil {
		t.Fatal(err, c.Pools)
	}
	got := map[string]string{}
	for _, x := range c.Types {
		got[x.Name] = fmt.Sprint(x.Objects, x.Unreached)
	}
	if got["float"] != "5 2" || got["list"] != "2 1" || c.Unreached != 3 {
		t.Errorf("%v of %d", got, c.Unreached)
	}
	torn := errors.New("a pool is torn")
	if c, err := f.open(t).Census(func(func(at addr.Run, size uint64) bool) error { return torn }); err != nil || !errors.Is(c.Pools, torn) {
		t.Errorf("%v, %v", err, c.Pools)
	}
}

// TestGivenUp has each of them end soon when nobody waits.
func TestGivenUp(t *testing.T) {
	f := newFake(16 << 20)
	for range 4 {
		f.listOf(100000)
	}
	for name, do := range map[string]func(h *Heap) error{
		"census":    func(h *Heap) error { _, err := h.Census(nil); return err },
		"referrers": func(h *Heap) error { _, err := h.Referrers(f.list); return err },
	} {
		h := openAt(t, f, f.meta, 0)
		if err := do(h); !errors.Is(err, ErrInterrupted) || h.slots > 200000 {
			t.Errorf("%s: %v after %d references", name, err, h.slots)
		}
	}
}

func TestSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s, want := newSet(true), map[addr.Run]uint32{}
	for i := range uint32(50000) {
		at := addr.Run(rng.Uint64N(1<<14)+1) << 3
		_, was := want[at]
		if added := s.add(at, i); added == was {
			t.Fatalf("%v: added %v, but it was there: %v", at, added, was)
		}
		if !was {
			want[at] = i
		}
	}
	for at, n := range want {
		if got, ok := s.get(at); !ok || got != n {
			t.Fatalf("%v: %d, want %d", at, got, n)
		}
	}
	if s.n != len(want) || s.has(4) {
		t.Errorf("%d, want %d", s.n, len(want))
	}
}

// bent is memory that repeats some bytes everywhere, and has a version of CPython.
type bent struct {
	b     []byte
	minor byte
}

func (m bent) ReadAt(b []byte, at int64) (int, error) {
	if len(m.b) == 0 || at < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	for i := range b {
		b[i] = m.b[(uint64(at)+uint64(i))%uint64(len(m.b))]
	}
	for i, v := range []byte{0xf0, 1, m.minor, 3, 0, 0, 0, 0} {
		if off := versionAt + int64(i) - at; off >= 0 && off < int64(len(b)) {
			b[off] = v
		}
	}
	return len(b), nil
}

// FuzzObjects reads objects from memory that may hold anything.
func FuzzObjects(f *testing.F) {
	f.Add([]byte{0}, uint8(8))
	f.Add([]byte("\x00\x10\x00\x00\x00\x00\x00\x00\x00\x20\x00\x00\x00\x00\x00\x00"), uint8(12))
	page := make([]byte, 4096) // each word leads somewhere
	for i := 0; i < len(page); i += 8 {
		binary.LittleEndian.PutUint64(page[i:], uint64(0x20000+8*(i*7%512)))
	}
	f.Add(page, uint8(13))
	whole := newFake(1 << 16)
	whole.listOf(20)
	f.Add(whole.b, uint8(12))
	f.Fuzz(func(t *testing.T, mem []byte, minor uint8) {
		if in, err := python.Open(bent{mem, 8 + minor%6}, symbolsOf(0x20000)); err != nil {
			return
		} else if _, err := in.Runtime(); err != nil {
			return
		}
		h := func() *Heap { return openAt(t, bent{mem, 8 + minor%6}, 0x20000, 1) }
		_, _ = h().Census(nil) // hostile memory has no right answer
		_, _ = h().Collectors()
		for _, at := range []addr.Run{0x20000, 0x30010} {
			_, _ = h().Referrers(at)
			_, _ = h().Path(at)
		}
		x := h()
		for k := plain; k <= elementKind; k++ {
			kind := &Type{At: 0x20000, kind: k, from: 16, keys: 0x30000, nkeys: 5,
				Class: layout.Class{Basic: 64, Item: 8, DictAt: -8, Flags: layout.IsHeapType | layout.ManagedDict | layout.InlineValues}}
			_, _ = x.size(0x20008, kind)
			x.slots = 0
			_ = x.traverse(0x20008, kind, func(addr.Run, edge) {})
			for e := field; e <= child; e++ {
				_ = x.suffix(0x20008, kind, edge{e, 24})
			}
		}
	})
}

func BenchmarkCensus(b *testing.B) {
	f := newFake(32 << 20)
	for range 50000 {
		f.listOf(9)
	}
	for b.Loop() {
		h := openAt(b, f, f.meta, 1<<30)
		if c, err := h.Census(nil); err != nil || c.Objects != 500000 {
			b.Fatal(c, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500000, "ns/object")
}
