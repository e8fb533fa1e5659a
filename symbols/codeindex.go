package symbols

import (
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"hdb/internal/panics"
	"hdb/symbols/dwarf"
	"hdb/symbols/elf"
)

// codeIndex finds the unit with the code at an address. The whole index needs the first
// entry of every unit; before it is made, a few addresses are looked for in .debug_aranges.
type codeIndex struct {
	once  sync.Once
	whole atomic.Pointer[dwarf.RangeMap] // address -> index in units, nil at first
	cut   atomic.Bool                    // the file was cut while the index was made

	arangesOnce sync.Once
	aranges     bool         // .debug_aranges has all units with code
	scanned     atomic.Int64 // bytes of .debug_aranges
}

// After maxScans times the length of .debug_aranges, or maxScanned bytes, were looked
// through the whole index costs less.
const (
	maxScans   = 16
	maxScanned = 32 << 20
)

// unitAt is the index of the unit with code at a, -1 without.
func (d *debugInfo) unitAt(a uint64) int {
	if m := d.code.whole.Load(); m != nil {
		return int(m.At(a))
	}
	if i := d.arangeAt(a); i >= 0 {
		return i
	}
	return int(d.codeMap().At(a))
}

// codeMap is the whole index.
func (d *debugInfo) codeMap() *dwarf.RangeMap {
	d.code.once.Do(func() { d.code.whole.Store(d.indexCode()) })
	return d.code.whole.Load()
}

// arangeAt is the unit that .debug_aranges names for a; -1 unless the unit itself and
// the absence of others confirm it.
func (d *debugInfo) arangeAt(a uint64) int {
	size := int64(len(d.data.Aranges))
	if size == 0 || d.code.scanned.Add(size) > min(maxScans*size, maxScanned) {
		return -1
	}
	d.code.arangesOnce.Do(func() { d.code.aranges = d.arangesComplete() })
	if !d.code.aranges || !d.isCode(a) {
		return -1
	}
	off, ok := d.data.ArangeAt(a)
	if !ok {
		return -1
	}
	i := sort.Search(d.own, func(i int) bool { return d.units[i].Off >= off })
	if i == d.own || d.units[i].Off != off {
		return -1
	}
	u := d.units[i]
	if u.Version == 2 || !d.hasCode(u) {
		return -1
	}
	for _, r := range u.Root().Ranges(nil, u.RangeBytes()/2+1) {
		if r.Low <= a && a < r.High && d.isCode(r.Low) {
			return i
		}
	}
	return -1
}

// arangesComplete reports whether .debug_aranges has a set of each unit that has code.
func (d *debugInfo) arangesComplete() bool {
	listed := map[uint64]bool{}
	d.data.ArangeUnits(func(unit uint64) { listed[unit] = true })
	missing := 0
	for _, u := range d.units[:d.own] {
		if listed[u.Off] {
			continue
		}
		// clang makes no .debug_aranges: of many units without a set some have code.
		if missing++; missing > maxWithout {
			return false
		}
		if d.hasCode(u) && len(u.Root().Ranges(nil, 1)) > 0 {
			return false
		}
	}
	return true
}

// maxWithout bounds the units without a set whose first entries are read.
const maxWithout = 64

// hasCode reports whether u is a unit that code can belong to.
func (d *debugInfo) hasCode(u *dwarf.Unit) bool {
	root, err := u.Load()
	return err == nil && (root.Tag == dwarf.TagCompileUnit || root.Tag == dwarf.TagSkeletonUnit)
}

// indexCode reads the ranges of all units.
func (d *debugInfo) indexCode() *dwarf.RangeMap {
	aranges := sync.OnceValue(d.data.ReadAranges)
	// Each list belongs to one unit; those of a hostile file are shared by many.
	limit := int64(len(d.data.Ranges)+len(d.data.RngLists))/2 + int64(len(d.units))
	var total atomic.Int64
	const share = 32 // units at a time
	parts := make([][]dwarf.Span, (d.own+share-1)/share)
	var next atomic.Int64
	work := func() {
		for {
			n := int(next.Add(1)) - 1
			if n >= len(parts) {
				return
			}
			fault := elf.Guard(func() {
				for i := n * share; i < min(n*share+share, d.own); i++ {
					before := len(parts[n])
					parts[n] = d.unitSpans(parts[n], i, int(limit-total.Load()), aranges)
					total.Add(int64(len(parts[n]) - before))
				}
			})
			if fault != nil {
				d.code.cut.Store(true)
			}
		}
	}
	var wg panics.Group
	for range min(runtime.GOMAXPROCS(0), len(parts)) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return dwarf.NewRangeMap(slices.Concat(parts...))
}

// unitSpans appends the code of unit i, at most max ranges.
func (d *debugInfo) unitSpans(spans []dwarf.Span, i, max int, aranges func() map[uint64][]dwarf.Range) []dwarf.Span {
	u := d.units[i]
	if !d.hasCode(u) {
		return spans
	}
	ranges := u.Root().Ranges(nil, max)
	// DWARF 2 cannot give a unit several ranges: the root's are not all.
	if len(ranges) == 0 || u.Version == 2 {
		ranges = append(ranges, aranges()[u.Off]...)
	}
	for _, r := range ranges {
		if d.isCode(r.Low) {
			spans = append(spans, dwarf.Span{Range: r, ID: int32(i)})
		}
	}
	return spans
}
