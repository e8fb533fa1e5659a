package heap

import (
	"cmp"
	"slices"
	"sort"

	"hdb/capture"
)

// A Mapping is pages that one call mapped, or made accessible, and that are still as it left them.
type Mapping struct {
	Low, High uint64          // [Low, High)
	Mode      capture.MapMode // of sbrk as of private anonymous pages
	Seq       uint64          // of the event
	Stack     capture.StackID
	TID       int32
	Func      uint16 // index into Functions()
	Pool      bool   // blocks of the program's own allocator were in it, then or later
}

// Mappings are the mappings that calls of mmap, mremap, mprotect, munmap and sbrk leave. Those that
// the program had before the first event are not known, nor are those of calls that are no events: what
// an allocator maps within one of its calls, and what the dynamic linker maps.
//
// Pages belong to the call that made them accessible: to mmap, or to mprotect where mmap had
// only reserved the addresses (PROT_NONE). What mremap returns belongs to mremap. A mapping put over
// others (MAP_FIXED) takes their place. Not safe for concurrent use.
type Mappings struct {
	// Changed, if it is not nil, is called for pages that come and for pages that go. What only
	// becomes another mapping goes and comes.
	Changed func(p Mapping, gone bool)

	list    [][]Mapping     // ascending and disjoint; no list is empty or longer than maxMappings
	pools   map[uint64]bool // the events of mappings that are an allocator's; nil: none is known
	unknown uint64
}

// maxMappings bounds the lists, so that a change moves few others.
const maxMappings = 256

// sbrkMode is of the pages of sbrk, and of those that mremap took from before the first event.
const sbrkMode = capture.ProtRead | capture.ProtWrite | capture.MapPrivate | capture.MapAnonymous

// Unknown is how many calls of mmap there were of which an older version did not record what they mapped.
func (m *Mappings) Unknown() uint64 { return m.unknown }

// Each calls yield for the mappings, ascending, until it returns false.
func (m *Mappings) Each(yield func(Mapping) bool) {
	for _, l := range m.list {
		for i := range l {
			if !yield(l[i]) {
				return
			}
		}
	}
}

// Reset forgets all: the program was replaced.
func (m *Mappings) Reset() {
	if m.Changed != nil {
		m.Each(func(p Mapping) bool {
			m.Changed(p, true)
			return true
		})
	}
	m.list = nil
}

// Post takes in an event. name is its function's.
func (m *Mappings) Post(e *capture.Event, name string) {
	low, high := addresses(e)
	if low == high {
		return
	}
	switch {
	case name == capture.PoolChunk:
		m.pool(low, high)
	case e.Kind == capture.Unmap:
		m.cut(low, high, nil)
	case e.Kind == capture.Protect:
		m.protect(e, low, high)
	case e.Kind == capture.Map:
		mode := capture.MapMode(e.Aux)
		switch {
		case e.Old != 0:
			mode = m.remapped(e)
		case mode == 0 && name == "mmap":
			m.unknown++
			m.cut(low, high, nil)
			return
		case mode == 0:
			mode = sbrkMode
		}
		low, high = pages(e, mode)
		m.cut(low, high, nil)
		m.insert(m.of(e, low, high, mode))
	}
}

func (m *Mappings) of(e *capture.Event, low, high uint64, mode capture.MapMode) Mapping {
	return Mapping{Low: low, High: high, Mode: mode, Seq: e.Seq, Stack: e.Stack, TID: e.TID, Func: e.Func, Pool: m.pools[e.Seq]}
}

// Touches reports whether an event changes any of the mappings.
func (m *Mappings) Touches(e *capture.Event) bool {
	low, high := addresses(e)
	if e.Kind == capture.Map && e.Old != 0 && !e.Failed && m.any(e.Old, end(e.Old, e.Aux, 4096)) {
		return true
	}
	return low < high && m.any(low, high)
}

// addresses are those that an event is about, none if it changes nothing.
func addresses(e *capture.Event) (low, high uint64) {
	if e.Failed || e.Size == 0 || e.Addr == 0 || !e.Kind.Maps() {
		return 0, 0
	}
	mode := capture.MapMode(0)
	if e.Kind == capture.Map && e.Old == 0 {
		mode = capture.MapMode(e.Aux)
	}
	return pages(e, mode)
}

// pages are the whole pages of an event; sbrk's are as many bytes as it was asked for.
func pages(e *capture.Event, mode capture.MapMode) (low, high uint64) {
	if e.Kind == capture.Map && e.Old == 0 && e.Aux == 0 || e.Addr%4096 != 0 {
		return e.Addr, end(e.Addr, e.Size, 1)
	}
	return e.Addr, end(e.Addr, e.Size, mode.Page())
}

// end is the end of size bytes from low in whole pages.
func end(low, size, page uint64) uint64 {
	size = (size + page - 1) &^ (page - 1)
	if low+size < low {
		return 1<<64 - 1
	}
	return low + size
}

// remapped takes what mremap moved or resized away, and returns its mode.
func (m *Mappings) remapped(e *capture.Event) capture.MapMode {
	mode := sbrkMode
	low := e.Old
	if i, j, ok := m.find(low); ok && m.list[i][j].Low <= low {
		old := &m.list[i][j]
		mode = old.Mode
		m.inherit(e.Seq, old.Seq)
	}
	if e.Aux != 0 { // otherwise both are mapped: mremap(2) of a shared mapping with an old size of 0
		m.cut(low, end(low, e.Aux, mode.Page()), nil)
	}
	return mode
}

// protect gives the pages another protection.
func (m *Mappings) protect(e *capture.Event, low, high uint64) {
	var parts []Mapping
	m.cut(low, high, func(p Mapping) { parts = append(parts, p) })
	prot := capture.MapMode(e.Aux)
	for _, p := range parts {
		mode := p.Mode.WithProt(prot)
		if !p.Mode.Accessible() && mode.Accessible() {
			m.inherit(e.Seq, p.Seq)
			p = m.of(e, p.Low, p.High, mode)
		}
		p.Mode = mode
		m.insert(p)
	}
}

// find is the place of the first mapping that ends behind addr.
func (m *Mappings) find(addr uint64) (i, j int, ok bool) {
	i = sort.Search(len(m.list), func(i int) bool { l := m.list[i]; return l[len(l)-1].High > addr })
	if i == len(m.list) {
		return i, 0, false
	}
	j = sort.Search(len(m.list[i]), func(j int) bool { return m.list[i][j].High > addr })
	return i, j, true
}

func (m *Mappings) any(low, high uint64) bool {
	i, j, ok := m.find(low)
	return ok && m.list[i][j].Low < high
}

// cut takes the addresses out, and shows what was there if removed is not nil.
func (m *Mappings) cut(low, high uint64, removed func(Mapping)) {
	for {
		i, j, ok := m.find(low)
		if !ok || m.list[i][j].Low >= high {
			return
		}
		p := m.list[i][j]
		in := p
		in.Low, in.High = max(p.Low, low), min(p.High, high)
		if removed != nil {
			removed(in)
		}
		if m.Changed != nil {
			m.Changed(in, true)
		}
		left, right := p, p
		left.High, right.Low = in.Low, in.High
		switch l := &m.list[i][j]; {
		case left.Low < left.High && right.Low < right.High:
			*l = left
			m.put(right)
		case left.Low < left.High:
			*l = left
		case right.Low < right.High:
			*l = right
		default:
			m.remove(i, j)
		}
		if p.High >= high {
			return
		}
		low = p.High
	}
}

func (m *Mappings) remove(i, j int) {
	if m.list[i] = slices.Delete(m.list[i], j, j+1); len(m.list[i]) == 0 {
		m.list = slices.Delete(m.list, i, i+1)
	}
}

// insert puts a mapping where none is.
func (m *Mappings) insert(p Mapping) {
	if m.Changed != nil {
		m.Changed(p, false)
	}
	m.put(p)
}

// put is insert of what has been told, joined to its neighbours if they are of the same call.
func (m *Mappings) put(p Mapping) {
	i, j, ok := m.find(p.Low)
	if !ok {
		if i == 0 {
			m.list = append(m.list, []Mapping{p})
			return
		}
		i--
		j = len(m.list[i])
	}
	l := slices.Insert(m.list[i], j, p)
	if j+1 < len(l) && l[j].joins(&l[j+1]) {
		l[j].High = l[j+1].High
		l = slices.Delete(l, j+1, j+2)
	}
	if j > 0 && l[j-1].joins(&l[j]) {
		l[j-1].High = l[j].High
		l = slices.Delete(l, j, j+1)
	}
	m.list[i] = l
	if len(l) > maxMappings {
		half := slices.Clone(l[len(l)/2:])
		m.list[i] = l[:len(l)/2]
		m.list = slices.Insert(m.list, i+1, half)
	}
}

// joins reports whether p and the mapping behind it are one.
func (p *Mapping) joins(next *Mapping) bool {
	return p.High == next.Low && p.Seq == next.Seq && p.Mode == next.Mode
}

// A Mapped is what is left of the mapping that one call made.
type Mapped struct {
	Mapping         // Low and High are those of all; the mode is the first piece's
	Size     uint64 // bytes that can be accessed
	Reserved uint64 // bytes that cannot: PROT_NONE
}

// Held are the mappings by the calls that made them, ascending by event.
func (m *Mappings) Held() []Mapped {
	at := map[uint64]int{}
	var out []Mapped
	m.Each(func(p Mapping) bool {
		i, ok := at[p.Seq]
		if !ok {
			i = len(out)
			at[p.Seq] = i
			out = append(out, Mapped{Mapping: p})
		}
		b := &out[i]
		b.High = p.High
		if n := p.High - p.Low; p.Mode.Accessible() {
			if b.Size == 0 {
				b.Mode = p.Mode
			}
			b.Size += n
		} else {
			b.Reserved += n
		}
		return true
	})
	slices.SortFunc(out, func(a, b Mapped) int { return cmp.Compare(a.Seq, b.Seq) })
	return out
}

// mapFunctions are the functions whose calls change mappings.
var mapFunctions = []string{"mmap", "munmap", "mremap", "mprotect", "sbrk", "brk"}

// Mappings are those after event #seq. Where a version before 2.1 has recorded, the events of runs with calls that
// change any are read.
func (x *Index) Mappings(seq uint64) *Mappings {
	m := &Mappings{}
	x.FollowMappings(m, seq, func(*capture.Event) {})
	return m
}

// FollowMappings has m follow the events up to #seq, as Mappings does, and calls then behind each that may have changed it.
//
// Which mappings are an allocator's is known from the whole recording: one is so before its first block, too.
func (x *Index) FollowMappings(m *Mappings, seq uint64, then func(e *capture.Event)) {
	if slices.Contains(x.src.Functions(), capture.PoolChunk) {
		all := &Mappings{pools: map[uint64]bool{}}
		x.followMappings(all, End, func(*capture.Event) {})
		m.pools = all.pools
	}
	x.followMappings(m, seq, then)
}

func (x *Index) followMappings(m *Mappings, seq uint64, then func(e *capture.Event)) {
	names, sums := x.src.Functions(), x.src.Info().Aggregate
	for _, r := range x.runs {
		if r.First > seq || x.read.GivenUp() {
			break
		}
		if r.Fresh {
			m.Reset()
			then(&capture.Event{Seq: r.First, Time: r.Start})
		}
		if r.Maps == nil {
			calls, changes := mapCalls(r, names)
			if sums {
				m.unknown += calls
			}
			if sums || !changes {
				continue
			}
		}
		events := x.src.Events(r.First)
		if r.Maps != nil {
			events = r.Maps.Events()
		}
		last := min(seq, r.Last)
		for e := range events {
			if e.Seq > last {
				break
			}
			if !e.Kind.Maps() {
				continue
			}
			if int(e.Func) >= len(names) { // the recording continues
				names = x.src.Functions()
			}
			name := ""
			if int(e.Func) < len(names) {
				name = names[e.Func]
			}
			m.Post(&e, name)
			then(&e)
		}
	}
	if ends := x.src.Execs(); seq == End && len(ends) > 0 && ends[len(ends)-1] > x.Last() {
		m.Reset()
	}
}

// mapCalls tells how many calls of mmap a run has, and whether it has any that change mappings.
func mapCalls(r *capture.Summary, names []string) (mmap uint64, any bool) {
	for i, n := range r.Calls {
		if n == 0 {
			continue
		}
		if i >= len(names) {
			return mmap, true
		}
		any = any || slices.Contains(mapFunctions, names[i])
		if names[i] == "mmap" {
			mmap += n
		}
	}
	return mmap, any
}
