package golang

import (
	"encoding/binary"
	"slices"
	"sort"
	"strings"

	"hdb/goruntime"
)

// Where a goroutine has made a call, tables of the compiler say which words of its frame are pointers that it still uses
// (runtime/stkframe.go, getStackMap).

// Bounds of tables.
const (
	maxFunctions = 1 << 22
	maxTables    = 64      // of a function
	maxTable     = 1 << 20 // bytes of one
	maxRead      = 1 << 28 // bytes of all that are read
	maxMapBits   = 1 << 24 // of a map of a frame, or of an object
	maxObjects   = 1 << 12 // of a frame
	maxFrameSize = 1 << 30
)

// Numbers of tables (internal/abi/symtab.go), and bits of a function's flags.
const (
	stackMapIndex    = 1 // of pcdata
	argsPointerMaps  = 0 // of funcdata
	localPointerMaps = 1
	stackObjects     = 2
	flagTopFrame     = 1
	flagSPWrite      = 2
	argsUnknown      = 1 << 31
)

// functions is a module's table of functions.
type functions struct {
	text   uint64
	table  []uint32 // of each function, ascending: entry, from text on, and place in lines; the last is the end
	lines  uint64   // pclntable
	values uint64   // pctab
	size   uint64   // its bytes
	names  uint64
	rodata uint64
	data   uint64 // gofunc, where funcdata is
}

// A frame is what the tables say of the frame of a function at a place in it.
type frame struct {
	bytes       uint64 // from the stack pointer to the return address
	args        uint64 // bytes of arguments and results behind the return address
	locals      mask   // the last words below the frame pointer
	argMap      mask
	objects     []object
	whole       bool // any word may be a pointer
	wholeCaller bool // the same of the caller, which was interrupted, or keeps the arguments
	runtime     bool
	top         bool // it is the last of the stack
	spWrite     bool // it changes the stack pointer in a way that the tables do not say
}

// A mask has a bit for each word that is a pointer.
type mask struct {
	words uint64
	bits  []byte
}

func (m mask) has(i uint64) bool { return m.bits[i/8]>>(i%8)&1 != 0 }

// An object is a variable in a frame that is alive if something points to it.
type object struct {
	at       int32 // from the frame pointer, or, not negative, from the arguments on
	size     uint64
	pointers mask
}

// functionsOf reads the table of functions of a module, nil if it cannot be read.
func (h *Heap) functionsOf(m *module) *functions {
	l := &h.src.Layout
	words := h.mem.Words(m.at+uint64(l.FuncNames), 2, 2)
	tables := h.mem.Words(m.at+uint64(l.PCTab), 9, 9) // three slices: pctab, pclntable, ftab
	text := h.mem.Word(m.at + uint64(l.NoPtrData) - 16)
	data := h.mem.Words(m.at+uint64(l.ROData), 2, 2)
	if len(words) < 2 || len(tables) < 9 || len(data) < 2 || text == 0 || tables[7] < 2 || tables[7] > maxFunctions {
		return nil
	}
	b := h.table(tables[6], 8*tables[7])
	if b == nil {
		return nil
	}
	f := &functions{text: text, lines: tables[3], values: tables[0], size: tables[1], names: words[0], rodata: data[0], data: data[1]}
	f.table = make([]uint32, len(b)/4)
	for i := range f.table {
		f.table[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return f
}

// table reads a table, nil if it cannot be read, or too much was.
func (h *Heap) table(at, n uint64) []byte {
	if h.read > maxRead || n > maxRead-h.read {
		return nil
	}
	h.read += n
	return h.mem.Bytes(at, n)
}

// frameAt is the frame at a place, nil if no function is there that the tables know.
func (h *Heap) frameAt(pc uint64) *frame {
	if f, ok := h.frames[pc]; ok {
		return f
	}
	var f *frame
	for i := range h.modules {
		m := &h.modules[i]
		if !m.looked {
			m.looked, m.functions = true, h.functionsOf(m)
		}
		if m.functions == nil || pc < m.functions.text {
			continue
		}
		if f = h.frameIn(m.functions, pc); f != nil {
			break
		}
	}
	h.frames[pc] = f
	return f
}

// frameIn looks a place up in one module.
func (h *Heap) frameIn(t *functions, pc uint64) *frame {
	n := len(t.table)/2 - 1
	off := pc - t.text
	i := sort.Search(n, func(i int) bool { return uint64(t.table[2*i]) > off }) - 1
	if i < 0 || off >= uint64(t.table[2*n]) {
		return nil
	}
	at, head := t.lines+uint64(t.table[2*i+1]), uint64(h.src.Layout.FuncHead)
	b := h.table(at, head)
	if b == nil {
		return nil
	}
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	pcdata, funcdata, flags := uint64(word(goruntime.FuncNPCData)), uint64(b[head-1]), b[int(head)+goruntime.FuncFlag]
	if pcdata > maxTables || funcdata > maxTables {
		return nil
	}
	tables := h.table(at+head, 4*(pcdata+funcdata))
	if tables == nil {
		return nil
	}
	entry := uint64(t.table[2*i])
	bytes, ok := h.valueAt(t, word(goruntime.FuncPCSP), entry, off)
	if !ok || bytes < 0 || bytes > maxFrameSize || bytes%8 != 0 {
		return nil
	}
	f := &frame{bytes: uint64(bytes), top: flags&flagTopFrame != 0, spWrite: flags&flagSPWrite != 0}
	text := h.table(t.names+uint64(word(goruntime.FuncName)), 32) // enough for the names below
	if text == nil {
		return nil
	}
	name, _, _ := strings.Cut(string(text), "\x00")
	f.runtime = strings.HasPrefix(name, "runtime.") || strings.HasPrefix(name, "internal/runtime/")
	switch name {
	case "runtime.asyncPreempt", "runtime.debugCallV2", "runtime.sigpanic":
		f.whole, f.wholeCaller = true, true
	case "runtime.cgocallback":
		f.spWrite = false
	}
	if word(goruntime.FuncArgs) == argsUnknown { // of reflect: its caller's frame has the arguments
		f.whole, f.wholeCaller = true, true
		return f
	}
	f.args = uint64(word(goruntime.FuncArgs)) &^ 7
	index := int32(0)
	if off != entry && pcdata > stackMapIndex {
		if v, ok := h.valueAt(t, binary.LittleEndian.Uint32(tables[4*stackMapIndex:]), entry, off-1); ok && v > 0 {
			index = v
		}
	}
	data := func(i uint64) uint64 {
		if i >= funcdata {
			return 0
		}
		if off := binary.LittleEndian.Uint32(tables[4*(pcdata+i):]); off != ^uint32(0) {
			return t.data + uint64(off)
		}
		return 0
	}
	if f.args > 0 {
		f.argMap, ok = h.stackMap(data(argsPointerMaps), index)
		f.whole = f.whole || !ok || f.argMap.words > f.args/8
	}
	if f.bytes > 8 {
		f.locals, ok = h.stackMap(data(localPointerMaps), index)
		f.whole = f.whole || !ok || 8*f.locals.words > f.bytes-8
	}
	if !f.whole {
		f.whole = !h.objects(f, t, data(stackObjects))
	}
	return f
}

// valueAt is what a table of pctab has for a place in a function; false if it has nothing.
func (h *Heap) valueAt(t *functions, table uint32, entry, target uint64) (value int32, ok bool) {
	if table == 0 || uint64(table) >= t.size {
		return 0, false
	}
	at, left := t.values+uint64(table), min(t.size-uint64(table), maxTable)
	var b []byte
	next := func() uint32 {
		v := uint32(0)
		for shift := 0; shift < 35; shift += 7 {
			if len(b) == 0 {
				n := min(left, 256)
				if b = h.table(at, n); len(b) == 0 {
					left = 0
					return 0
				}
				at, left = at+n, left-n
			}
			c := b[0]
			b = b[1:]
			if v |= uint32(c&0x7f) << shift; c&0x80 == 0 {
				break
			}
		}
		return v
	}
	value = -1
	for pc := entry; ; {
		delta := next()
		if delta == 0 && pc != entry {
			return 0, false
		}
		value += int32(delta>>1) ^ -int32(delta&1)
		step := next()
		if step == 0 {
			return 0, false
		}
		if pc += uint64(step); target < pc {
			return value, true
		}
	}
}

// stackMap is a bitmap of a table of them (runtime.stackmap).
func (h *Heap) stackMap(at uint64, index int32) (m mask, ok bool) {
	var b [8]byte
	if at == 0 || !h.mem.Read(b[:], at) {
		return m, false
	}
	n, bits := binary.LittleEndian.Uint32(b[:]), binary.LittleEndian.Uint32(b[4:])
	if index < 0 || uint32(index) >= n || bits > maxMapBits {
		return m, bits == 0 && n > 0
	}
	m.words = uint64(bits)
	size := (m.words + 7) / 8
	m.bits = h.table(at+8+uint64(index)*size, size)
	return m, m.bits != nil
}

// objects reads the stack objects of a frame; false if they cannot be read.
func (h *Heap) objects(f *frame, t *functions, at uint64) bool {
	if at == 0 {
		return true
	}
	n := h.mem.Word(at)
	if n > maxObjects {
		return false
	}
	b := h.table(at+8, 16*n)
	if b == nil {
		return false
	}
	for ; len(b) > 0; b = b[16:] {
		word := func(at int) int32 { return int32(binary.LittleEndian.Uint32(b[at:])) }
		o := object{at: word(0), size: uint64(uint32(word(4)))}
		if pointers := word(8); pointers >= 0 && uint64(pointers) <= min(o.size, 8*maxMapBits) {
			words := uint64(pointers) / 8
			if o.pointers = (mask{words, h.table(t.rodata+uint64(uint32(word(12))), (words+7)/8)}); o.pointers.bits == nil {
				return false
			}
		} else if o.size > 8*maxMapBits {
			return false
		} else { // a program of the collector's tells: before Go 1.24
			o.pointers = mask{o.size / 8, slices.Repeat([]byte{0xff}, int(o.size/8+7)/8)}
		}
		f.objects = append(f.objects, o)
	}
	return true
}
