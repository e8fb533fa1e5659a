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
	form      uint8 // the first byte of a plain record, 0 if there are none
	resizes   bool  // with an old block it is realloc
	allocates bool
	kind      capture.Kind
}

// plainSites brings what is known of functions up to date.
func (r *reader) plainSites() {
	for _, s := range r.p.sites[len(r.easy):] {
		fn := &s.Function
		f := plainSite{kind: fn.Kind}
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
				f.form |= flagLong
			}
		}
		r.easy, r.functions = append(r.easy, f), append(r.functions, fn)
	}
}

// plain handles records as long as they are plain and there is room in the batch, up
// to the position end, and tells how many events they were: 0 if it has handled none, so
// that take gets the next. What it does not understand at a glance it leaves to take. No
// thread may be in a call that other calls have to know of.
func (r *reader) plain(end uint64) int {
	ring := unsafe.Pointer(unsafe.SliceData(r.p.shared.ring))
	easy := r.easy
	count := 0
	for r.n < len(r.batch) && r.tail < end {
		rec := (*record)(unsafe.Add(ring, r.tail%ringSize))
		head := rec.head()
		index := head >> siteShift & (1<<12 - 1)
		if index >= uint64(len(easy)) {
			break
		}
		site := &easy[index]
		length, old, aux := uint64(recordSize), uint64(0), uint64(0)
		if form := uint8(head); form != site.form || form == 0 {
			// The record of a realloc's end comes next, unless other threads have a
			// hand in between.
			const same = 1<<stackShift - 1<<siteShift
			if form != recBegin|flagBare || !site.resizes {
				break
			}
			old = rec[2]
			rec = (*record)(unsafe.Add(ring, (r.tail+recordSize)%ringSize))
			ended := rec.head()
			if (ended^head)&same != 0 || uint8(ended) != site.form || rec[4] != old || rec[2] == 0 {
				break
			}
			head, aux = ended, rec[5]
			length = recordSize + longRecord
		} else if form&flagLong != 0 {
			if rec[4] != 0 {
				break
			}
			aux = rec[5]
			length = longRecord
		}
		number := head >> stackShift
		if number >= uint64(len(r.stacks)) {
			break
		}
		known := r.stacks[number]
		if known == 0 {
			break
		}
		stack := &r.known[known]
		tid := uint32(head >> tidShift & (1<<22 - 1))
		address, size := rec[2], rec[3]
		e := &r.batch[r.n]
		e.Failed = false
		if site.allocates {
			r.asked += size
			r.made++
			e.Failed = address == 0
		} else if stack.first-site.low < site.size && tid != r.first {
			break
		}
		e.Time, e.TID, e.Kind = r.clock.at(rec[1]), int32(tid), site.kind
		e.Addr, e.Size, e.Old, e.Aux = address, size, old, aux
		e.Stack, e.Func, e.Abandoned = stack.id, uint16(index), false
		r.n++
		r.tail += length
		count++
	}
	return count
}
