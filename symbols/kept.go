package symbols

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"
	"sync"

	"hdb/internal/addr"
	"hdb/symbols/elf"
)

// keptNames are the answers of Lookup and LookupStatement, on disk from the last time
// that the file was seen: to name a few addresses all of its DWARF is decompressed.
type keptNames struct {
	file  *File
	dwarf *DWARF

	mu    sync.Mutex
	read  bool // the disk was asked
	known map[keptKey][]Frame
	added bool // something is known that is not on the disk
}

// maxKept bounds the addresses of one object, maxChain the functions at one of them.
const (
	maxKept  = 1 << 16
	maxChain = 1 << 10
)

// namesKind is the kind of the kept files; the number changes with their form.
const namesKind = "names2"

// A keptKey is a question.
type keptKey struct {
	at        addr.File
	statement bool // asked LookupStatement
}

func (k keptKey) compare(l keptKey) int {
	if k.at == l.at && k.statement != l.statement {
		if l.statement {
			return -1
		}
		return 1
	}
	return cmp.Compare(k.at, l.at)
}

// ask is the answer that is kept, or else find's, which is run with the files guarded.
// The frames are the caller's own.
func (k *keptNames) ask(key keptKey, find func() []Frame) []Frame {
	if frames, ok := k.get(key); ok {
		return frames
	}
	var frames []Frame
	fault := elf.Guard(func() { frames = find() })
	if fault == nil && k.dwarf.err == nil && !k.dwarf.info.incomplete() { // else there may be more next time
		k.add(key, frames)
	}
	return frames
}

func (k *keptNames) get(key keptKey) ([]Frame, bool) {
	if k.file.cfg.Cache == nil {
		return nil, false
	}
	k.file.fetch() // answers without the debug file are others
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.read {
		k.read = true
		k.known = decodeNames(k.file.cfg.Cache.Get(namesKind, k.file.Identity()))
	}
	frames, ok := k.known[key]
	return slices.Clone(frames), ok
}

// add notes an answer, if get was asked before.
func (k *keptNames) add(key keptKey, frames []Frame) {
	if k.file.cfg.Cache == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known != nil && len(k.known) < maxKept && len(frames) <= maxChain {
		k.known[key], k.added = slices.Clone(frames), true
	}
}

// save keeps what was added.
func (k *keptNames) save() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.added {
		k.added = false
		k.file.cfg.Cache.Put(namesKind, k.file.Identity(), encodeNames(k.known))
	}
}

// encodeNames writes, all numbers as varints: how many strings, and each with its
// length; how many questions, and for each, ascending, the distance of its address from
// the one before, whether it is for a statement, how many frames, and their fields.
// Strings are numbers into the first list.
func encodeNames(known map[keptKey][]Frame) []byte {
	var list, b []byte
	numbers := map[string]uint64{}
	put := func(v uint64) { b = binary.AppendUvarint(b, v) }
	flag := func(b bool) {
		if b {
			put(1)
		} else {
			put(0)
		}
	}
	text := func(s string) {
		n, ok := numbers[s]
		if !ok {
			n = uint64(len(numbers))
			numbers[s] = n
			list = append(binary.AppendUvarint(list, uint64(len(s))), s...)
		}
		put(n)
	}
	put(uint64(len(known)))
	last := addr.File(0)
	for _, k := range slices.SortedFunc(maps.Keys(known), keptKey.compare) {
		put(uint64(k.at - last))
		flag(k.statement)
		last = k.at
		put(uint64(len(known[k])))
		for _, f := range known[k] {
			text(f.Function)
			text(f.Linkage)
			text(f.File)
			put(uint64(f.Entry))
			put(uint64(f.Line))
			put(uint64(f.Column))
			put(uint64(f.Discriminator))
			flag(f.Inlined)
			put(uint64(f.Source))
			put(uint64(f.Language))
		}
	}
	return slices.Concat(binary.AppendUvarint(nil, uint64(len(numbers))), list, b)
}

// decodeNames is what encodeNames wrote; empty if it is anything else.
func decodeNames(b []byte) map[keptKey][]Frame {
	none := map[keptKey][]Frame{}
	bad := false
	// get is the next number, which must be at most limit.
	get := func(limit uint64) uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > limit {
			bad, b = true, nil
			return 0
		}
		b = b[n:]
		return v
	}
	const anything, number = 1<<64 - 1, 1<<31 - 1
	var strs []string
	for range get(anything) {
		n := get(anything)
		if bad || n > uint64(len(b)) {
			return none
		}
		strs, b = append(strs, string(b[:n])), b[n:]
	}
	text := func() string {
		if n := get(anything); n < uint64(len(strs)) {
			return strs[n]
		}
		bad = true
		return ""
	}
	known := map[keptKey][]Frame{}
	a := addr.File(0)
	for range get(maxKept) {
		a += addr.File(get(anything))
		key := keptKey{a, get(1) != 0}
		var frames []Frame // nil without, as for Lookup
		for range get(maxChain) {
			frames = append(frames, Frame{
				Function: text(), Linkage: text(), File: text(), Entry: addr.File(get(anything)),
				Line: int(get(number)), Column: int(get(number)), Discriminator: int(get(1<<32 - 1)), Inlined: get(1) != 0,
				Source: Provenance(get(uint64(FromDWARF))), Language: Language(get(1<<16 - 1)),
			})
			if bad {
				return none
			}
		}
		if bad {
			return none
		}
		known[key] = frames
	}
	if bad || len(b) != 0 {
		return none
	}
	return known
}
