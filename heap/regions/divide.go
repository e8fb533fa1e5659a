package regions

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hdb/internal/addr"
)

// A claim says whose a range is. Where claims overlap, the one of the higher level has the
// bytes.
type claim struct {
	start, end addr.Run
	kind       Kind
	module     string
	tid        int
	label      string
	written    bool // of a segment that the program may write, or could until it was relocated
}

// The levels of claims, the strongest first. A stack may be in a block of the allocator, pymalloc's
// arenas in blocks, and hdb's islands anywhere; what modules have is mapped from their files or
// zeros behind them, and no other claim to it can be true.
const (
	levelOwn = iota
	levelTLS
	levelStack
	levelInternal
	levelRuntime
	levelArena
	levelOwned
	levelModule
	levels
)

// maxNotes bounds the notes: what lies may do so a million times.
const maxNotes = 32

// A divider gathers claims and divides the mappings by them.
type divider struct {
	src    *Source
	maps   []Mapping // ascending, without overlap
	claims [levels][]claim
	space  *Space
	static uint64 // bytes of static TLS below a thread pointer
}

// Divide gives every mapped byte its owner. What contradicts the mappings, or a claim of the
// same kind, is left out, with a note.
func Divide(src *Source) *Space {
	d := &divider{src: src, space: &Space{TLS: slices.Clone(src.TLS)}}
	slices.SortStableFunc(d.space.TLS, func(a, b TLSBlock) int { return cmp.Compare(a.Start, b.Start) })
	d.sortMappings()
	d.ranges(levelOwn, Debugger, src.Own)
	d.ranges(levelInternal, Heap, src.Internal)
	d.ranges(levelRuntime, Runtime, src.Runtimes)
	d.ranges(levelArena, Heap, src.Arenas)
	d.ranges(levelOwned, Heap, src.Owned)
	d.modules()
	d.threads()
	for level := range d.claims {
		d.sortClaims(level)
	}
	d.divide()
	d.label()
	return d.space
}

func (d *divider) note(format string, args ...any) {
	switch n := len(d.space.Notes); {
	case n < maxNotes:
		d.space.Notes = append(d.space.Notes, fmt.Sprintf(format, args...))
	case n == maxNotes:
		d.space.Notes = append(d.space.Notes, "and more of the kind")
	}
}

// sortMappings keeps what is a range and overlaps no mapping below.
func (d *divider) sortMappings() {
	all := slices.Clone(d.src.Mappings)
	slices.SortStableFunc(all, func(a, b Mapping) int { return cmp.Compare(a.Start, b.Start) })
	var end addr.Run
	for _, m := range all {
		if m.Start >= m.End || m.Start < end {
			d.note("mapping %v-%v overlaps another one or is empty: left out", m.Start, m.End)
			continue
		}
		d.maps = append(d.maps, m)
		end = m.End
	}
}

// mapping is the mapping of an address, nil without.
func (d *divider) mapping(a addr.Run) *Mapping {
	i, ok := slices.BinarySearchFunc(d.maps, a, func(m Mapping, a addr.Run) int { return addr.Compare(m.Start, m.End, a) })
	if !ok {
		return nil
	}
	return &d.maps[i]
}

// overlapping are the mappings that have a byte of [start, end).
func (d *divider) overlapping(start, end addr.Run) []Mapping {
	i, _ := slices.BinarySearchFunc(d.maps, start, func(m Mapping, a addr.Run) int {
		if m.End <= a {
			return -1
		}
		return 1
	})
	k := i
	for k < len(d.maps) && d.maps[k].Start < end {
		k++
	}
	return d.maps[i:k]
}

func (d *divider) claim(level int, c claim) {
	if c.start < c.end {
		d.claims[level] = append(d.claims[level], c)
	}
}

func (d *divider) ranges(level int, kind Kind, list []Range) {
	for _, r := range list {
		if r.Start >= r.End || len(d.overlapping(r.Start, r.End)) == 0 {
			d.note("%v %q at %v-%v: nothing is mapped there", kind, r.Label, r.Start, r.End)
			continue
		}
		d.claim(level, claim{start: r.Start, end: r.End, kind: kind, label: r.Label})
	}
}

// sortClaims sorts a level and cuts what overlaps the claim before.
func (d *divider) sortClaims(level int) {
	list := d.claims[level]
	slices.SortStableFunc(list, func(a, b claim) int { return cmp.Compare(a.start, b.start) })
	kept := list[:0]
	var end addr.Run
	for _, c := range list {
		if c.start < end {
			d.note("%v at %v-%v overlaps what ends at %v", c.kind, c.start, c.end, end)
			if c.start = end; c.start >= c.end {
				continue
			}
		}
		kept = append(kept, c)
		end = c.end
	}
	d.claims[level] = kept
}

// modules claims what the segments of modules have.
func (d *divider) modules() {
	for _, m := range d.src.Modules {
		if len(m.Segments) == 0 {
			for _, p := range d.overlapping(m.Low, m.High) {
				kind := Data // whose permissions are looked at below
				if p.Path == "" {
					kind = BSS
				}
				d.claim(levelModule, claim{start: max(p.Start, m.Low), end: min(p.End, m.High), kind: kind, module: m.Name})
			}
			continue
		}
		for _, s := range m.Segments {
			start, end := s.Start&^(PageSize-1), pageUp(s.End)
			if start >= end || s.FileEnd < s.Start || s.FileEnd > s.End {
				d.note("segment %v-%v of %s: no such range", s.Start, s.End, m.Name)
				continue
			}
			if !s.Write {
				d.claim(levelModule, claim{start: start, end: end, kind: Data, module: m.Name})
				continue
			}
			d.claim(levelModule, claim{start: start, end: s.FileEnd, kind: Data, module: m.Name, written: true})
			d.claim(levelModule, claim{start: s.FileEnd, end: end, kind: BSS, module: m.Name, written: true})
		}
	}
}

func pageUp(a addr.Run) addr.Run {
	if up := (a + PageSize - 1) &^ (PageSize - 1); up >= a {
		return up
	}
	return ^addr.Run(0)
}

// divide cuts each mapping where claims begin and end.
func (d *divider) divide() {
	var next [levels]int // of each level, the first claim that ends above the mapping in hand
	for i := range d.maps {
		m := &d.maps[i]
		first := len(d.space.Regions)
		for at := m.Start; at < m.End; {
			end := m.End
			var owner *claim
			for level := 0; level < levels && owner == nil; level++ {
				list := d.claims[level]
				k := next[level]
				for k < len(list) && list[k].end <= at {
					k++
				}
				next[level] = k
				switch {
				case k == len(list):
				case list[k].start <= at:
					owner, end = &list[k], min(end, list[k].end)
				default: // a stronger claim begins in what a weaker one has
					end = min(end, list[k].start)
				}
			}
			d.space.Regions = append(d.space.Regions, regionOf(m, at, end, owner, len(d.claims[levelArena]) > 0))
			at = end
		}
		d.usage(m, d.space.Regions[first:])
	}
}

// regionOf is [start, end) of a mapping that belongs to owner; nil: only the kernel knows. arenas:
// those of an allocator are known.
func regionOf(m *Mapping, start, end addr.Run, owner *claim, arenas bool) Region {
	r := Region{Start: start, End: end, Perm: m.Perm, Path: m.Path, Kind: mappingKind(m)}
	if m.Path != "" && m.Path[0] != '[' {
		r.Offset = m.Offset + uint64(start-m.Start)
	}
	if owner == nil {
		if r.Kind == Heap && arenas { // which are known: the program has called sbrk(2) itself
			r.Kind, r.Label = Anonymous, "from sbrk"
		}
		return r
	}
	r.Kind, r.Module, r.TID, r.Label = owner.kind, owner.module, owner.tid, owner.label
	switch none := !m.allows('r') && !m.allows('w') && !m.allows('x'); {
	case r.Kind == Data || r.Kind == BSS:
		r.Kind = moduleKind(m, r.Kind)
		r.Relocated = r.Kind == ReadOnly && owner.written
	case none && (r.Kind == Heap || r.Kind == Stack || r.Kind == StackUnused):
		r.Kind = Reserved
	}
	return r
}

// moduleKind is what a module has in a mapping, by its permissions.
func moduleKind(m *Mapping, kind Kind) Kind {
	switch {
	case m.allows('w'):
		return kind
	case m.allows('x'):
		return Code
	case m.allows('r'):
		return ReadOnly
	}
	return Reserved
}

func (m *Mapping) allows(p byte) bool { return strings.IndexByte(m.Perm, p) >= 0 }

func (m *Mapping) shared() bool { return len(m.Perm) > 3 && m.Perm[3] == 's' }

// mappingKind is what the kernel says of a mapping.
func mappingKind(m *Mapping) Kind {
	switch name, _, _ := strings.Cut(m.Path, ":"); name {
	case "[vdso]", "[vvar]", "[vvar_vclock]", "[vsyscall]", "[uprobes]":
		return Kernel
	case "[stack]":
		return Stack
	case "[heap]":
		return Heap
	}
	switch {
	case !m.allows('r') && !m.allows('w') && !m.allows('x'):
		return Reserved
	case m.Path == "/dev/zero" && !m.shared():
		return Anonymous
	case sharedMemory(m.Path):
		return Shared
	case m.Path != "" && m.Path[0] != '[':
		return File
	case m.shared():
		return Shared
	case m.allows('x'):
		return Runtime
	}
	return Anonymous
}

// sharedMemory tells the names that the kernel gives memory without a file on a disk.
func sharedMemory(path string) bool {
	for _, prefix := range []string{"/dev/zero", "/memfd:", "/SYSV", "/dev/shm/", "anon_inode:", "[anon_shmem:", "/anon_hugepage"} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// label says what the claims do not: that a thread runs on memory that is not its stack, and what
// is between an allocator's.
func (d *divider) label() {
	for _, t := range d.src.Threads {
		for _, sp := range t.Stacks {
			r := d.space.At(sp)
			if r == nil || r.TID != 0 {
				continue
			}
			if r.TID = t.TID; r.Label != "" {
				r.Label += ", "
			}
			r.Label += "a thread runs on it"
		}
	}
	list := d.space.Regions
	for i := range list {
		r := &list[i]
		if r.Kind == Runtime && r.Label == "" {
			r.Label = "code made at run time"
		}
		if i == 0 || list[i-1].Kind != Heap || list[i-1].End != r.Start {
			continue
		}
		const between = 64 // less than this is for alignment
		switch {
		case r.Kind == Reserved:
			r.Label = "for the arena to grow"
		case r.Kind == Anonymous && r.Size() < between && i+1 < len(list) && list[i+1].Kind == Heap && list[i+1].Start == r.End:
			r.Kind, r.Label = Heap, list[i-1].Label
		}
	}
}
