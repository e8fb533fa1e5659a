package regions

import (
	"sort"

	"hdb/internal/addr"
)

// Blocks are blocks that a program holds, ascending.
type Blocks interface {
	Len() int
	Block(i int) (start, end addr.Run)
}

// A Layer is part of what a process takes: the regions of some kinds, or the blocks in them.
type Layer struct {
	Name    string // as in JSON: "code", "heap-used", ...
	Regions int
	Size    uint64 // bytes of address space
	Usage
	Guess bool // how much of it is resident is a guess
}

// layerNames are all layers in their order, with the kinds of regions that each has.
var layerNames = []struct {
	name  string
	kinds []Kind
}{
	{"code", []Kind{Code, ReadOnly}},
	{"data", []Kind{Data, BSS}},
	{"stacks", []Kind{Stack, StackUnused, StackGuard, SignalStack, StackEnded}},
	{"tls", []Kind{TLS}},
	{heapUsed, nil},
	{heapFree, []Kind{Heap}},
	{"runtimes", []Kind{Runtime}},
	{"anonymous", []Kind{Anonymous, Unknown}},
	{"shared", []Kind{Shared}},
	{"files", []Kind{File}},
	{"reserved", []Kind{Reserved}},
	{"kernel", []Kind{Kernel}},
	{hdbLayer, []Kind{Debugger}},
}

const heapUsed, heapFree = "heap-used", "heap-free"

// Hdb reports whether the layer is what hdb has put into the process.
func (l *Layer) Hdb() bool { return l.Name == hdbLayer }

const hdbLayer = "hdb"

// layerOf is the number of the layer of each kind.
func layerOf() (of [kinds]int) {
	for i, l := range layerNames {
		for _, k := range l.kinds {
			of[k] = i
		}
	}
	return of
}

// Divided is how layers are divided further than regions are.
type Divided struct {
	Blocks Blocks // those of the program; nil: not known
	Pages  Pages
	// Owner is the name of an allocator of which not all blocks are known: what the blocks do not have of its memory is a layer of its
	// name, not free.
	Owner string
}

// Layers sum the regions up. The part of an allocator's memory that is in blocks is a layer of its own, by the
// state of the pages. So is the part of the program's mappings that is in blocks: of an allocator of its
// own, or one that is not known. Each byte is in one layer, so that the sums are those of Total.
func (s *Space) Layers(how Divided) []Layer {
	of := layerOf()
	all := make([]Layer, len(layerNames))
	for i, l := range layerNames {
		all[i].Name = l.name
	}
	for i := range s.Regions {
		r := &s.Regions[i]
		l := &all[of[r.Kind]]
		l.Regions, l.Size, l.Usage, l.Guess = l.Regions+1, l.Size+r.Size(), l.Usage.Plus(r.Usage), l.Guess || r.Guess
	}
	used, free := &all[of[Heap]-1], &all[of[Heap]]
	if how.Blocks != nil {
		s.split(used, free, Heap, how.Blocks, how.Pages)
		s.split(used, &all[of[Anonymous]], Anonymous, how.Blocks, how.Pages)
	}
	if how.Owner != "" {
		free.Name = how.Owner
	}
	return all
}

// split takes what blocks have of regions of a kind out of its layer.
func (s *Space) split(used, free *Layer, kind Kind, blocks Blocks, pages Pages) {
	k, n := 0, blocks.Len()
	for i := range s.Regions {
		r := &s.Regions[i]
		if r.Kind != kind {
			continue
		}
		known := pages != nil && r.Known && (r.Resident != 0 || r.Swap != 0)
		var runs []PageRun
		if known {
			if pages(r.Start, r.End, func(p PageRun) { runs = append(runs, p) }) != nil {
				runs = nil
			}
		}
		in := usedBytes{region: r, runs: runs}
		k += sort.Search(n-k, func(i int) bool { _, end := blocks.Block(k + i); return end > r.Start })
		for ; k < n; k++ {
			start, end := blocks.Block(k)
			if start >= r.End {
				break
			}
			in.add(max(start, r.Start), min(end, r.End))
			if end > r.End {
				break // it continues in another region
			}
		}
		u := in.Usage
		exact := !known || in.all() == Usage{r.Resident, r.Dirty, r.Swap}
		u.Resident, u.Dirty, u.Swap = min(u.Resident, r.Resident), min(u.Dirty, r.Dirty), min(u.Swap, r.Swap)
		used.Usage = used.Usage.Plus(u)
		free.Resident, free.Dirty, free.Swap = free.Resident-u.Resident, free.Dirty-u.Dirty, free.Swap-u.Swap
		used.Size, free.Size = used.Size+in.size, free.Size-in.size
		used.Guess, free.Guess = used.Guess || !exact, free.Guess || !exact
		if in.size > 0 {
			used.Regions++
		}
	}
}

// usedBytes adds up what blocks of a region have.
type usedBytes struct {
	region *Region
	runs   []PageRun // ascending
	k      int       // those before end below the last block
	last   addr.Run  // where that ends
	size   uint64
	Usage
}

// add adds a block; what another one has had is not counted twice.
func (u *usedBytes) add(start, end addr.Run) {
	if start = max(start, u.last); start >= end {
		return
	}
	u.last = end
	u.size += uint64(end - start)
	for u.k < len(u.runs) && u.runs[u.k].End <= start {
		u.k++
	}
	for k := u.k; k < len(u.runs) && u.runs[k].Start < end; k++ {
		u.count(&u.runs[k], start, end)
	}
}

func (u *usedBytes) count(p *PageRun, start, end addr.Run) {
	from, to := max(p.Start, start), min(p.End, end)
	if from >= to {
		return
	}
	switch n := uint64(to - from); {
	case !p.Resident:
		u.Swap += n
	case p.Changed:
		u.Resident, u.Dirty = u.Resident+n, u.Dirty+n
	default:
		u.Resident += n
	}
}

// all is what the runs have of the whole region.
func (u *usedBytes) all() Usage {
	sum := usedBytes{}
	for i := range u.runs {
		sum.count(&u.runs[i], u.region.Start, u.region.End)
	}
	return sum.Usage
}
