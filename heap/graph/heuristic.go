package graph

import (
	"cmp"
	"errors"
	"io"
	"math/bits"
	"slices"
	"sort"
	"unsafe"
)

// Heuristics is a set of reasons for which a pointer into the interior of a block counts as one to its
// start. All but Runtime are memcheck's (mc_leakcheck.c, --leak-check-heuristics), which uses them by default.
type Heuristics uint8

const (
	// StdString: to the characters behind length, capacity and count of references (libstdc++'s old std::string).
	StdString Heuristics = 1 << iota
	// Length64: behind a first word that is the number of the other bytes (sqlite).
	Length64
	// NewArray: behind a first word that is a count of elements that the rest can be divided into: new T[n] of
	// a T with a destructor. If n is 0 that points one past the end, which LeakSanitizer knows, and memcheck does not.
	NewArray
	// MultipleInheritance: to a word that points to a table of virtual functions, in a block whose first word
	// does, too. It needs Options.Files and Options.Code.
	MultipleInheritance
	// Runtime: Options.Inner accepts the pointer.
	Runtime
)

func (h Heuristics) String() string {
	switch h {
	case StdString:
		return "stdstring"
	case Length64:
		return "length64"
	case NewArray:
		return "newarray"
	case MultipleInheritance:
		return "multipleinheritance"
	case Runtime:
		return "runtime"
	}
	return ""
}

// What the first words of a block allow.
const (
	looksString = 1 << iota
	looksLength
	looksArray
	looksEmptyArray
	looksVirtual
)

const stringHeader = 3 * wordBytes

// A candidate is an edge that a heuristic may take for one to the start of its block.
type candidate struct {
	address uint64 // that is pointed to
	index   uint32 // in Graph.interior or Graph.rootEdges
	root    bool
}

// heuristics strengthens edges to blocks that are not reached otherwise. Pointers behind the end of a block are no edges unless
// they are of an empty array.
func (m *marker) heuristics() {
	wanted := newBitset(m.Graph.blocks.Len())
	asked := 0
	want := func(to uint32, offset uint64) bool {
		if !m.nowhere(to, offset) && (m.seen.has(to) || offset%wordBytes != 0 && m.o.Inner == nil) || m.o.manages(m.Graph.blocks.addr[to]) {
			return false
		}
		if !wanted.has(to) {
			wanted.set(to)
			asked++
		}
		return true
	}
	all := 0
	m.interiors(func(_ uint32, _ bool, to uint32, offset uint64) {
		if want(to, offset) {
			all++
		}
	})
	if all == 0 {
		return
	}
	looks := m.headers(wanted, asked)
	m.why, m.rootWhy = map[uint32]Heuristics{}, map[int]Heuristics{}
	var virtual []candidate
	m.interiors(func(index uint32, root bool, to uint32, offset uint64) {
		if !want(to, offset) {
			return
		}
		switch why := m.allowed(looks[to], to, offset); {
		case why != 0:
			m.strengthen(index, root, why)
		case m.nowhere(to, offset):
			m.drop(index, root)
		case m.o.Inner != nil && m.ctx.Err() == nil && m.o.Inner(m.wordAt(index, root), m.Graph.blocks.addr[to]+offset, m.Graph.blocks.At(int(to))):
			m.strengthen(index, root, Runtime)
		case looks[to]&looksVirtual != 0 && offset%wordBytes == 0:
			virtual = append(virtual, candidate{m.Graph.blocks.addr[to] + offset, index, root})
		}
	})
	m.virtual(virtual)
}

// interiors calls do for each edge that does not point to the start.
func (m *marker) interiors(do func(index uint32, root bool, to uint32, offset uint64)) {
	for i := range m.rootEdges {
		if e := &m.rootEdges[i]; e.to&weak != 0 {
			do(uint32(i), true, e.to&^weak, e.offset)
		}
	}
	for i := range m.interior.Len() {
		in := m.interior.At(i)
		// What a block points to in itself changes nothing.
		if to := m.Graph.edges.At(int(in.edge)).to &^ weak; to != in.from && in.offset != farAway {
			do(uint32(i), false, to, uint64(in.offset))
		}
	}
}

// wordAt is the address of the word that is an edge, 0 if it is not in memory.
func (m *marker) wordAt(index uint32, root bool) uint64 {
	if root {
		return m.rootEdges[index].at
	}
	in := m.interior.At(int(index))
	return alignUp(m.Graph.blocks.addr[in.from]) + uint64(m.Graph.edges.At(int(in.edge)).word)*wordBytes
}

// allowed is the first heuristic that takes such a pointer, but for MultipleInheritance and Runtime.
func (m *marker) allowed(looks uint8, to uint32, offset uint64) Heuristics {
	switch {
	case m.nowhere(to, offset):
		if looks&looksEmptyArray != 0 {
			return NewArray
		}
	case offset == stringHeader && looks&looksString != 0:
		return StdString
	case offset == wordBytes && looks&looksLength != 0:
		return Length64
	case offset == wordBytes && looks&looksArray != 0:
		return NewArray
	}
	return 0
}

func (m *marker) strengthen(index uint32, root bool, why Heuristics) {
	if root {
		m.rootEdges[index].to &^= weak
		m.rootWhy[int(index)] = why
		return
	}
	e := m.interior.At(int(index)).edge
	m.Graph.edges.At(int(e)).to &^= weak
	m.why[e] = why
}

// drop makes an edge one of its block to itself, which leads nowhere.
func (m *marker) drop(index uint32, root bool) {
	if !root {
		in := m.interior.At(int(index))
		in.offset = dropped
		m.Graph.edges.At(int(in.edge)).to = in.from | weak
		m.stats.Edges--
		m.stats.Interior--
	}
}

// headers tells what the first words of the wanted blocks look like.
func (m *marker) headers(wanted bitset, n int) []uint8 {
	looks := make([]uint8, m.Graph.blocks.Len())
	r := m.newWindow(n)
	tables := map[uint64]bool{}
	for i, word := range wanted {
		for ; word != 0; word &= word - 1 {
			if m.ctx.Err() != nil {
				return looks
			}
			b := uint32(i*64) + uint32(bits.TrailingZeros64(word))
			looks[b] = m.look(r, m.Graph.blocks.At(int(b)), tables)
		}
	}
	return looks
}

// look tells what the first words of a block look like.
func (m *marker) look(r *window, b Block, tables map[uint64]bool) (looks uint8) {
	words, ok := r.words(b.Addr, min(b.Size/wordBytes, 2))
	if !ok || len(words) == 0 {
		return 0
	}
	first, rest := words[0], b.Size-wordBytes
	if len(words) == 2 && words[1] < b.Size && m.fits(b, words[1]+stringHeader+1) && first <= words[1] {
		looks |= looksString
	}
	if first > 0 && first < b.Size && m.fits(b, first+wordBytes) {
		looks |= looksLength
	}
	switch {
	case first == 0 && rest == 0:
		looks |= looksEmptyArray
	case first > 0 && rest > 0 && rest%first == 0:
		looks |= looksArray
	}
	if m.isTable(first, tables) {
		looks |= looksVirtual
	}
	return looks &^ m.unwanted()
}

// fits reports whether size bytes may be what the program asked for.
func (m *marker) fits(b Block, asked uint64) bool {
	return asked == b.Size || m.o.Fits != nil && m.o.Fits(b, asked)
}

// unwanted are the looks of heuristics that are not to be used.
func (m *marker) unwanted() (looks uint8) {
	without := m.o.Without
	if without&StdString != 0 {
		looks |= looksString
	}
	if without&Length64 != 0 {
		looks |= looksLength
	}
	if without&NewArray != 0 {
		looks |= looksArray | looksEmptyArray
	}
	if without&MultipleInheritance != 0 {
		looks |= looksVirtual
	}
	return looks
}

// virtual asks candidates for MultipleInheritance, whose blocks begin with the address of a table.
func (m *marker) virtual(all []candidate) {
	slices.SortFunc(all, func(a, b candidate) int { return cmp.Compare(a.address, b.address) })
	r := m.newWindow(len(all))
	tables := map[uint64]bool{}
	for _, c := range all {
		if m.ctx.Err() != nil {
			return
		}
		if words, ok := r.words(c.address, 1); ok && m.isTable(words[0], tables) {
			m.strengthen(c.index, c.root, MultipleInheritance)
		}
	}
}

const (
	tableWords  = 20      // of a table that are looked at
	tableFuncs  = 2       // addresses of code that make it one; zeros are nothing
	tablesKnown = 1 << 16 // answers kept
)

// isTable is true of an address of what looks like a table of virtual functions: memory of a file, with addresses of code of files.
func (m *marker) isTable(address uint64, known map[uint64]bool) bool {
	if address%wordBytes != 0 || !within(m.o.Files, address) {
		return false
	}
	is, ok := known[address]
	if ok {
		return is
	}
	if len(known) >= tablesKnown {
		clear(known)
	}
	is = m.readsAsTable(address)
	known[address] = is
	return is
}

func (m *marker) readsAsTable(address uint64) bool {
	var words [tableWords]uint64
	n, _ := readWords(m.memory, words[:], address) // of what cannot be read there is less
	functions := 0
	for _, w := range words[:n] {
		if w == 0 {
			continue
		}
		if !within(m.o.Code, w) {
			return false
		}
		if functions++; functions == tableFuncs {
			return true
		}
	}
	return false
}

// within reports whether one of the ranges, which ascend, contains an address.
func within(all []Range, address uint64) bool {
	i := sort.Search(len(all), func(i int) bool { return all[i].End > address })
	return i < len(all) && all[i].Start <= address
}

// readWords reads words, and tells how many it has; if not all, why.
func readWords(memory io.ReaderAt, words []uint64, address uint64) (int, error) {
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(words)*wordBytes)
	n, err := memory.ReadAt(b, int64(address))
	if n < 0 || n > len(b) {
		return 0, errors.New("the memory reader returned a wrong length")
	}
	if n < len(b) && err == nil {
		err = io.ErrUnexpectedEOF
	}
	return n / wordBytes, err
}

// A window reads words at ascending addresses, many at once where they lie close.
type window struct {
	s    *scanner
	mem  *Touched
	base uint64
	have []uint64
	room []uint64
}

// newWindow is for n places in the blocks.
func (m *marker) newWindow(places int) *window {
	size := uint64(faultPage)
	if m.Graph.blocks.Len() > 0 && uint64(places) > m.Graph.blocks.bytes()/(4*faultPage) {
		size = 256 << 10
	}
	return &window{s: m.scanner, mem: &Touched{Memory: m.memory, Populated: m.o.Populated}, room: make([]uint64, size/wordBytes)}
}

// words are n words at an address, at most two.
func (w *window) words(address, n uint64) ([]uint64, bool) {
	if address%wordBytes == 0 {
		if address < w.base || address+n*wordBytes > w.base+uint64(len(w.have))*wordBytes {
			w.base = address &^ (faultPage - 1)
			got, _ := readWords(w.mem, w.room, w.base) // what is missing is read alone, if it is wanted
			w.have = w.room[:got]
		}
		if i := (address - w.base) / wordBytes; i+n <= uint64(len(w.have)) {
			return w.have[i:][:n], true
		}
	}
	var few [2]uint64
	for i := range n {
		_, err := readWords(w.mem, few[i:i+1], address+i*wordBytes)
		if err != nil && !errors.Is(err, ErrUntouched) { // which is zeros
			w.s.unread.Add(n * wordBytes)
			return nil, false
		}
	}
	return few[:n], true
}
