package probe

import (
	"unsafe"

	"hdb/breakpoints"
	"hdb/capture"
)

// A plainSite is what is known beforehand of the records of a function. Most of
// them are plain: of a call of malloc or free, say, that was made by the program and
// whose stack has been seen. plain makes events of them, take of all others.
type plainSite struct {
	// A free in another thread than the first with a caller here may be the
	// allocator's own.
	low, size uint64
	length    uint64 // of a plain record
	form      uint8  // its first byte, 0 if there are none
	resizes   bool   // with an old block it is realloc
	allocates bool
	kind      capture.Kind
}

// plainSites brings what is known of functions up to date.
func (r *reader) plainSites() {
	for _, s := range r.p.sites[len(r.functions):] {
		fn := &s.Function
		f := plainSite{kind: fn.Kind, length: recordSize}
		switch {
		case fn.Frees():
			f.form = recFree
			if fn.Kind == capture.Free && !s.Main {
				f.low, f.size = uint64(s.In.Low), uint64(s.In.High-s.In.Low)
				r.first = uint32(r.p.proc.PID())
			}
		case fn.Result != breakpoints.NotNull && fn.Result != breakpoints.NoTest, fn.Symbol == "sbrk",
			fn.Count.From == breakpoints.Constant, fn.Align.From == breakpoints.Constant:
			// complete has to look at the result.
		default:
			f.form, f.allocates, f.resizes = recAlloc, true, fn.Kind == capture.Realloc
			if longRecords(*fn) {
				f.form, f.length = recAlloc|flagLong, longRecord
			}
		}
		r.easy[len(r.functions)] = f
		r.functions = append(r.functions, fn)
	}
}

// plain handles records as long as they are plain and there is room in the batch, up
// to the position end, and tells how many events they were: 0 if it has handled none, so
// that take gets the next. What it does not understand at a glance it leaves to take, and
// what is newer than the present, which take looks up again. No thread may be in a call
// that other calls have to know of. It calls nothing, so that what it needs stays in
// registers.
func (r *reader) plain(end uint64) int {
	ring := unsafe.Pointer(unsafe.SliceData(r.p.shared.ring))
	n, tail := uint(r.n), r.tail
	for n < uint(len(r.batch)) && tail < end {
		rec := (*record)(unsafe.Add(ring, tail%ringSize))
		head := rec.head()
		index := head >> siteShift & (1<<12 - 1)
		site, e := &r.easy[index], &r.batch[n]
		e.Kind, e.Func, e.Old = site.kind, uint16(index), 0
		length := site.length
		if form := uint8(head); form != site.form || form == 0 {
			// The record of a realloc's end comes next, unless other threads have a
			// hand in between.
			const other = 64 - stackShift // bits of a head above its site and TID
			if form != recBegin|flagBare || !site.resizes {
				break
			}
			old := rec[2]
			rec = (*record)(unsafe.Add(ring, (tail+recordSize)%ringSize))
			ended := rec.head()
			if (ended^head)<<other>>(other+siteShift) != 0 || uint8(ended) != site.form || rec[4] != old || rec[2] == 0 {
				break
			}
			head, e.Old, e.Aux = ended, old, rec[5]
			length += recordSize
		} else if length == recordSize {
			e.Aux = 0
		} else if rec[4] == 0 {
			e.Aux = rec[5]
		} else {
			break
		}
		number := head >> stackShift
		if number >= uint64(len(r.stacks)) {
			break
		}
		known := r.stacks[number]
		if known == 0 {
			break
		}
		ago, ok := r.clock.since(rec[1])
		if !ok {
			break
		}
		e.Time = r.clock.before(ago)
		stack := &r.known[known]
		tid := uint32(head >> tidShift & (1<<22 - 1))
		address, size := rec[2], rec[3]
		e.TID, e.Stack, e.Addr, e.Size, e.Abandoned = int32(tid), stack.id, address, size, false
		if site.allocates {
			r.asked += size
			r.made++
			e.Failed = address == 0
		} else {
			if tid != r.first && stack.first-site.low < site.size {
				break
			}
			e.Failed = false
		}
		n++
		tail += length
	}
	count := int(n) - r.n
	r.n, r.tail = int(n), tail
	return count
}
