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
	kind  capture.Kind
	types uint8 // bits of the types of records that can be plain: 1<<recAlloc and so on
	// A free in another thread than the first with a caller here may be the
	// allocator's own.
	low, size uint64
}

// plainSites brings what is known of functions up to date.
func (r *reader) plainSites() {
	for _, s := range r.p.sites[len(r.easy):] {
		fn := &s.Function
		f := plainSite{kind: fn.Kind}
		if fn.Kind == capture.Free && !s.Main {
			f.low, f.size = uint64(s.In.Low), uint64(s.In.High-s.In.Low)
			r.first = uint32(r.p.proc.PID())
		}
		simple := fn.Result == breakpoints.NotNull || fn.Result == breakpoints.NoTest
		if simple && fn.Count.From != breakpoints.Constant && fn.Align.From != breakpoints.Constant && fn.Symbol != "sbrk" {
			f.types = 1 << recAlloc
			if fn.Kind == capture.Realloc {
				f.types |= 1 << recBegin
			}
		}
		f.types |= 1 << recFree
		r.easy, r.functions = append(r.easy, f), append(r.functions, fn)
	}
}

// plain handles records as long as they are plain and there is room in the batch, up
// to the position end, and tells how many. What it does not understand at a glance it
// leaves to take. No thread may be in a call that other calls have to know of.
func (r *reader) plain(end uint64) int {
	const form = typeMask | flagInside | flagFailed | flagBare
	ring := unsafe.Pointer(unsafe.SliceData(r.p.shared.ring))
	easy, first := r.easy, r.first
	count, n, at := 0, r.n, r.tail
	for n < len(r.batch) && at < end {
		rec := (*record)(unsafe.Add(ring, at%ringSize))
		head := rec.head()
		index, kind := head>>siteShift&(1<<12-1), head&form
		if index >= uint64(len(easy)) {
			break
		}
		if kind == recBegin|flagBare {
			kind = recBegin
		}
		site := &easy[index]
		if kind > typeMask || site.types>>kind&1 == 0 {
			break
		}
		next, old, aux, records := at+recordSize, uint64(0), uint64(0), 1
		if kind == recBegin {
			// The record of its end is the next one, unless other threads have a hand
			// in between.
			const same = 1<<stackShift - 1<<siteShift
			begun := rec[2]
			rec = (*record)(unsafe.Add(ring, next%ringSize))
			ended := rec.head()
			if (ended^head)&same != 0 || ended&(form|flagLong) != recAlloc|flagLong || rec[4] != begun || rec[2] == 0 {
				break
			}
			head, kind, old, aux, records = ended, recAlloc, begun, rec[5], 2
			next += longRecord
		} else if head&flagLong != 0 {
			if kind != recAlloc || rec[4] != 0 {
				break
			}
			aux = rec[5]
			next = at + longRecord
		}
		number := head >> stackShift
		if number >= uint64(len(r.stacks)) {
			break
		}
		known := r.stacks[number]
		if known == 0 {
			break
		}
		tid := uint32(head >> tidShift & (1<<22 - 1))
		stack := &r.known[known]
		address, size := rec[2], rec[3]
		if kind == recAlloc {
			r.asked += size
			r.made++
		} else if stack.first-site.low < site.size && tid != first {
			break
		}
		e := &r.batch[n]
		e.Time, e.TID, e.Kind = r.clock.at(rec[1]), int32(tid), site.kind
		e.Addr, e.Size, e.Old, e.Aux = address, size, old, aux
		e.Stack, e.Func, e.Failed, e.Abandoned = stack.id, uint16(index), kind == recAlloc && address == 0, false
		n++
		count += records
		at = next
	}
	r.n, r.tail = n, at
	return count
}
