package probe

import (
	"sync/atomic"
	"time"
	"unsafe"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/goruntime"
)

// A plainSite is what is known beforehand of the records of a function. Most of
// them are plain: of a call of malloc or free, say, that was made by the program and
// whose stack has been seen. plain makes events of them, take of all others.
type plainSite struct {
	asks uint64 // all ones if it allocates: its records' sizes are asked for
	ofCall
	form   uint32 // the first word of a plain record, up to the TID; formNone if there are none
	golang uint64 // where the module of a Go runtime begins, 0 if the function is of none
}

// ofCall is what a plain event says of its call beyond the record, as in capture.Event: one word,
// so that it is copied at once.
type ofCall struct {
	function          uint16
	kind              capture.Kind
	failed, abandoned bool // they are not
	_                 [3]byte
}

// A compiler refuses this if it would reach into what comes next in an event; a test looks
// at the fields.
const _ = uint(unsafe.Offsetof(capture.Event{}.Ended) - unsafe.Offsetof(capture.Event{}.Func) - unsafe.Sizeof(ofCall{}))

const (
	formMask = 1<<tidShift - 1 // the bits of a record's first word below its TID
	formNone = 1 << tidShift
)

// plainSites brings what is known of functions up to date.
func (r *reader) plainSites() {
	if len(r.functions) == 0 {
		r.easy[0].form = formNone // those of others have their index
	}
	for _, s := range r.p.siteTable.list[len(r.functions):] {
		r.functions = append(r.functions, nil)
		r.learn(s)
	}
}

// learn notes what is known of a function.
func (r *reader) learn(s *site) {
	fn := &s.Function
	f := plainSite{ofCall: ofCall{function: uint16(s.index), kind: fn.Kind}}
	switch {
	case fn.Frees():
		f.form = recFree
	case fn.Result != breakpoints.NotNull && fn.Result != breakpoints.NoTest, fn.MayUnmap(),
		fn.Count.From == breakpoints.Constant, fn.Align.From == breakpoints.Constant:
		f.form = formNone // complete has to look at the result
	default:
		f.form, f.asks = recAlloc, ^uint64(0)
		if longRecords(*fn) {
			f.form |= flagLong
		}
		if goAllocates(fn) {
			f.golang, f.form = uint64(s.In.Low), f.form|flagLong
		}
	}
	f.form |= uint32(f.function) << siteShift
	r.easy[f.function], r.functions[f.function] = f, fn
}

// plain handles records as long as they are plain and there is room in the batch, up to the
// position end, and tells how many events they were: 0 if it has handled none, so that take gets
// the next. What it does not understand at a glance it leaves to take, and what seems newer than
// the present, which take looks up again, or older than the session. No thread may be in a call
// that other calls have to know. It calls nothing and is one function, so that what it needs stays
// in registers, and steps from address to address: the ring is mapped twice in a row. FuzzPlain
// holds it against take.
func (r *reader) plain(end uint64) int {
	const longest = recordSize + longRecord // what an event is read from
	most := min(uint64(len(r.batch)-r.n), (end-r.tail)/longest)
	if most == 0 || !r.clock.fine() {
		return 0
	}
	e := (*capture.Event)(unsafe.Add(unsafe.Pointer(&r.batch), uintptr(r.n)*unsafe.Sizeof(r.batch[0])))
	r.full, r.begun = uintptr(unsafe.Pointer(e))+uintptr(most)*unsafe.Sizeof(*e), 0
	at := unsafe.Pointer(r.p.shared.at(r.tail))
	sites, stacks := r.easy, r.stacks.byNumber
	_, _ = sites[0], stacks[0] // they are there
	for {
		for uintptr(unsafe.Pointer(e)) != r.full {
			rec := (*record)(at)
			head := atomic.LoadUint64(&rec[0])
			when := r.clock.before(r.clock.tsc[1] - rec[1])
			if when < 0 {
				break
			}
			e.Time = time.Duration(when) * capture.Resolution
			site := &sites[head>>siteShift%MaxFunctions]
			if uint32(head)&formMask&^flagBare != site.form {
				break
			}
			e.TID = int32(head >> tidShift & (1<<22 - 1))
			stack := capture.StackID(0)
			if head&flagBare == 0 {
				number := head >> stackShift
				if number >= uint64(len(stacks)) {
					break
				}
				if stack = stacks[number]; stack == 0 {
					break
				}
			}
			address, size := rec[2], rec[3]
			if address == 0 {
				break
			}
			e.Stack, e.Addr, e.Size = stack, address, size
			e.Old, e.Aux = 0, 0
			if site.golang != 0 {
				if size < goruntime.TinySize {
					break // it may share its slot
				}
				e.Aux = uint64(capture.NewGoAux(rec[5], rec[4], site.golang))
				at = unsafe.Add(at, longRecord-recordSize)
			} else if head&flagLong != 0 {
				// The record before also names the old block. If that began another realloc, which
				// a signal handler has interrupted, there is none.
				if rec[4] != 0 || r.begun == uintptr(at) {
					if r.begun != uintptr(at) || rec[4] != (*record)(unsafe.Add(at, -recordSize))[2] {
						break
					}
					e.Old = rec[4]
				}
				e.Aux = rec[5]
				at = unsafe.Add(at, longRecord-recordSize)
			}
			*(*ofCall)(unsafe.Pointer(&e.Func)) = site.ofCall
			asks := site.asks
			r.asked += size & asks
			r.made -= asks
			at = unsafe.Add(at, recordSize)
			e = (*capture.Event)(unsafe.Add(unsafe.Pointer(e), unsafe.Sizeof(*e)))
		}
		// The record of a realloc's end comes after the record of its begin, unless other threads
		// have a hand in between.
		if uintptr(unsafe.Pointer(e)) == r.full || r.begun == uintptr(at) {
			break
		}
		const other = 64 - stackShift // bits of a head above its site and TID
		next := unsafe.Add(at, recordSize)
		head, ended := (*record)(at).head(), (*record)(next).head()
		if uint8(head) != recBegin|flagBare || uint8(ended)&^flagBare != recAlloc|flagLong || (ended^head)<<other>>(other+siteShift) != 0 ||
			sites[head>>siteShift%MaxFunctions].kind != capture.Realloc {
			break
		}
		r.begun, at = uintptr(next), next
	}
	if r.begun == uintptr(at) { // the end is not plain: take gets both
		at = unsafe.Add(at, -recordSize)
	}
	r.tail += uint64(uintptr(at) - uintptr(unsafe.Pointer(r.p.shared.at(r.tail))))
	n := int((uintptr(unsafe.Pointer(e)) - uintptr(unsafe.Pointer(&r.batch[r.n]))) / unsafe.Sizeof(*e))
	r.n += n
	return n
}
