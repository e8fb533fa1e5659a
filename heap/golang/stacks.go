package golang

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
)

// A stackScan finds the words of a goroutine's stack that the collector takes for pointers.
type stackScan struct {
	h       *Heap
	low     uint64
	words   []uint64
	seen    []uint64 // a bit for each of words
	objects []placed
	queue   []uint64 // pointers into the stack
	left    int      // words that may still be looked at: frames that overlap are none
}

// A placed object is where a frame has it.
type placed struct {
	at uint64
	*object
	scanned bool // or it will be
}

// Bounds of stacks that are scanned, in bytes: of others every word counts.
const (
	maxScanned    = 64 << 20
	maxAllScanned = 1 << 34
)

// scanStack finds the pointers in the stack of g, which is used from low to high, as the runtime's scanstack does; nil: all
// words may be some. If a thread is running in the innermost frame, it may be at any instruction.
func (h *Heap) scanStack(low, high uint64, innermost Stack, running bool, g []byte) []uint64 {
	if high-low > min(maxScanned, maxAllScanned-h.scanned) || low%8 != 0 || high%8 != 0 {
		return nil
	}
	h.scanned += high - low
	s := &stackScan{h: h, low: low, words: h.mem.Words(low, (high-low)/8, (high-low)/8)}
	if uint64(len(s.words)) != (high-low)/8 {
		return nil
	}
	s.seen, s.left = make([]uint64, (len(s.words)+63)/64), 8*len(s.words)
	s.frames(innermost.SP, innermost.PC, running)
	s.deferred(g)
	slices.SortFunc(s.objects, func(a, b placed) int { return cmp.Compare(a.at, b.at) })
	for len(s.queue) > 0 {
		v := s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
		i := sort.Search(len(s.objects), func(i int) bool { return s.objects[i].at > v }) - 1
		if i < 0 || s.objects[i].scanned || v-s.objects[i].at >= s.objects[i].size {
			continue
		}
		s.objects[i].scanned = true
		s.masked(s.objects[i].at, s.objects[i].pointers)
	}
	if s.left < 0 {
		return nil
	}
	return s.seen
}

// frames walks the frames from sp and pc on.
func (s *stackScan) frames(sp, pc uint64, running bool) {
	high := s.low + 8*uint64(len(s.words))
	whole := running // at any instruction, of which there is no map
	inner := running // so far all frames are of the runtime, which has addresses in numbers while it allocates
	for first := true; ; first = false {
		f := s.h.frameAt(pc)
		if f == nil || sp < s.low || sp%8 != 0 || sp > high || f.bytes+8+f.args > high-sp || f.spWrite && (running || !first) || s.left < 0 {
			s.all(max(sp, s.low), high)
			return
		}
		end := sp + f.bytes
		if whole || inner || f.whole {
			s.all(sp, end)
			s.all(end+8, end+8+f.args)
		} else {
			s.frame(f, sp)
		}
		if f.top {
			return
		}
		inner, whole = inner && f.runtime, f.wholeCaller
		sp, pc = end+8, s.words[(end-s.low)/8]
	}
}

// frame takes the words for pointers that the maps of a frame say. Its variables that have their addresses taken wait for
// a pointer to them.
func (s *stackScan) frame(f *frame, sp uint64) {
	args := sp + f.bytes + 8
	top := sp + f.bytes
	if f.bytes > 0 {
		top -= 8 // the caller's frame pointer
	}
	s.masked(top-8*f.locals.words, f.locals)
	s.masked(args, f.argMap)
	s.left -= len(f.objects)
	for i := range f.objects {
		o := &f.objects[i]
		at := top + uint64(int64(o.at))
		if o.at >= 0 {
			at = args + uint64(o.at)
		}
		if at >= sp { // else it is not there yet
			s.objects = append(s.objects, placed{at: at, object: o})
		}
	}
}

// all takes each word for a pointer.
func (s *stackScan) all(low, high uint64) {
	if low >= high {
		return
	}
	s.left -= int(high-low) / 8
	for at := low; at < high && s.left >= 0; at += 8 {
		s.see(at)
	}
}

// masked takes the words for pointers that a mask says.
func (s *stackScan) masked(at uint64, m mask) {
	s.left -= int(m.words)
	for i := uint64(0); i < m.words && s.left >= 0; i++ {
		if m.has(i) {
			s.see(at + 8*i)
		}
	}
}

// see takes a word for a pointer.
func (s *stackScan) see(at uint64) {
	i := (at - s.low) / 8
	if at < s.low || i >= uint64(len(s.words)) {
		return
	}
	s.seen[i/64] |= 1 << (i % 64)
	s.points(s.words[i])
}

// points notes a pointer, if it leads into the stack.
func (s *stackScan) points(v uint64) {
	if v >= s.low && v-s.low < 8*uint64(len(s.words)) {
		s.queue = append(s.queue, v)
	}
}

// deferred follows what a goroutine has in addition to its frames: calls that are deferred, some of which are
// noted on the stack, a panic, and the context of the function that continues.
func (s *stackScan) deferred(g []byte) {
	l := &s.h.src.Layout
	s.points(binary.LittleEndian.Uint64(g[l.GPanic:]))
	s.points(binary.LittleEndian.Uint64(g[l.Sched+l.SchedContext:]))
	d := binary.LittleEndian.Uint64(g[l.GPanic+8:])
	for d != 0 {
		if s.h.read += 16; s.h.read > maxRead {
			s.left = -1
			return
		}
		fn, link := d+uint64(l.DeferFn), d+uint64(l.DeferLink)
		s.see(fn)
		s.see(link)
		s.points(s.h.mem.Word(fn))
		d = s.h.mem.Word(link)
	}
}
