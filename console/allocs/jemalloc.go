package allocs

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/heap/jemalloc"
	"hdb/internal/units"
	"hdb/memory"
	"hdb/session/heaps"
)

// jemallocArenaView is an arena of jemalloc. What is used, cached and free are regions of active extents.
type jemallocArenaView struct {
	Index        int    `json:"index"`
	Active       uint64 `json:"active_bytes"`
	Used         uint64 `json:"used_bytes"`
	UsedBlocks   uint64 `json:"used_blocks"`
	Cached       uint64 `json:"cached_bytes"`
	CachedChunks uint64 `json:"cached_chunks"`
	Free         uint64 `json:"free_bytes"`
	Dirty        uint64 `json:"dirty_extent_bytes"`
	Muzzy        uint64 `json:"muzzy_extent_bytes"`
	Retained     uint64 `json:"retained_extent_bytes"`
}

func viewJemallocArena(a *jemalloc.Arena) jemallocArenaView {
	return jemallocArenaView{
		Index: a.Index, Active: a.Extents[jemalloc.Active], Used: a.Bytes, UsedBlocks: a.Blocks, Cached: a.CachedBytes, CachedChunks: a.Cached, Free: a.FreeBytes,
		Dirty: a.Extents[jemalloc.Dirty], Muzzy: a.Extents[jemalloc.Muzzy], Retained: a.Extents[jemalloc.Retained],
	}
}

func (v *jemallocArenaView) add(o jemallocArenaView) {
	v.Active += o.Active
	v.Used, v.UsedBlocks = v.Used+o.Used, v.UsedBlocks+o.UsedBlocks
	v.Cached, v.CachedChunks = v.Cached+o.Cached, v.CachedChunks+o.CachedChunks
	v.Free += o.Free
	v.Dirty, v.Muzzy, v.Retained = v.Dirty+o.Dirty, v.Muzzy+o.Muzzy, v.Retained+o.Retained
}

func (v *jemallocArenaView) row(o *screen.Output, name string) []screen.Span {
	size := func(n uint64) screen.Span { return screen.Plain(o.Sizes.Short(n)) }
	count := func(n uint64) screen.Span { return screen.Plain(units.Grouped(n)) }
	return []screen.Span{size(v.Active), size(v.Used), count(v.UsedBlocks), size(v.Cached), count(v.CachedChunks), size(v.Free), size(v.Dirty), size(v.Muzzy), size(v.Retained), screen.Plain(name)}
}

// jemallocView is what jemalloc has.
type jemallocView struct {
	Version  string              `json:"version"`
	Arenas   []jemallocArenaView `json:"arenas"`
	TCaches  int                 `json:"tcaches"`
	Metadata uint64              `json:"metadata_bytes"`
	Own      uint64              `json:"metadata_used_bytes"`
	Resident *uint64             `json:"resident_bytes,omitempty"`
	Fit      *memory.Fit         `json:"recorded,omitempty"`
	Torn     int                 `json:"damage_not_listed,omitempty"`
}

func viewJemalloc(a *heaps.JemallocAnswer) *jemallocView {
	v := &jemallocView{Version: a.Version(), Arenas: []jemallocArenaView{}, TCaches: len(a.Caches()), Torn: a.Torn()}
	for _, x := range a.Arenas() {
		v.Arenas = append(v.Arenas, viewJemallocArena(&x))
	}
	v.Metadata, v.Own = a.Metadata()
	if a.Known {
		v.Resident = &a.Resident
	}
	if a.Recording {
		v.Fit = &a.Recorded
	}
	return v
}

// jemallocColumns are those of jemallocArenaView.row.
func jemallocColumns() []screen.Column {
	return []screen.Column{right("active"), right("used"), right("blocks"), right("cached"), right("regions"), right("free"), right("dirty"), right("muzzy"), right("retained"), {Head: "arena"}}
}

// printJemalloc prints what jemalloc has.
func printJemalloc(o *screen.Output, a *heaps.JemallocAnswer, v *jemallocView) {
	o.Printf("jemalloc %s: %s, %s\n", v.Version, units.Count(len(v.Arenas), "arena"), units.Count(v.TCaches, "tcache"))
	printJemallocArenas(o, v.Arenas, desk.MaxArenaRows)
	o.Printf("its own data: %s of %s in use\n", o.Sizes.Short(v.Own), o.Sizes.Short(v.Metadata))
	if v.Resident != nil {
		o.Printf("%s of all this is in memory or in swap\n", o.Sizes.Short(*v.Resident))
	}
	if v.Fit != nil && v.Fit.Blocks > 0 {
		o.Printf("%s recorded: %s requested, %s usable\n", units.CountVerb(v.Fit.Blocks, "block", "is", "are"), o.Sizes.Short(v.Fit.Requested), o.Sizes.Short(v.Fit.Usable))
	}
	noteJemalloc(o, a)
}

// noteJemalloc says what makes the numbers less certain.
func noteJemalloc(o *screen.Output, a *heaps.JemallocAnswer) {
	odd := a.Torn()
	for _, c := range a.Caches() {
		odd += c.Odd
	}
	if odd > 0 {
		o.Line(screen.Guess(fmt.Sprintf("(%s of the heap did not hold together: a thread may be inside malloc)", units.Count(odd, "place"))))
	}
	if len(a.Caches()) == 0 {
		o.Line(screen.Guess("(no tcache was found: what threads have in one is shown as used)"))
	}
}

func printJemallocArenas(o *screen.Output, arenas []jemallocArenaView, limit int) {
	var rows [][]screen.Span
	total, rest := jemallocArenaView{}, jemallocArenaView{}
	more := 0
	for i, x := range arenas {
		total.add(x)
		if limit > 0 && i >= limit && len(arenas) > limit+1 {
			rest.add(x)
			more++
			continue
		}
		rows = append(rows, x.row(o, strconv.Itoa(x.Index)))
	}
	if more > 0 {
		rows = append(rows, rest.row(o, units.Count(more, "other")))
	}
	if len(rows) > 1 {
		rows = append(rows, total.row(o, "all"))
	}
	o.Table(jemallocColumns(), rows)
}

// jemallocBinView is a size class.
type jemallocBinView struct {
	Index        int    `json:"index"`
	Size         uint64 `json:"size"`
	Small        bool   `json:"slab"`
	Extents      uint64 `json:"extent_count"`
	Active       uint64 `json:"active_bytes"`
	UsedBlocks   uint64 `json:"used_blocks"`
	CachedChunks uint64 `json:"cached_chunks"`
	Free         uint64 `json:"free_chunks"`
}

// jemallocBins are the size classes of an arena, or of all; words are what was typed.
func jemallocBins(a *heaps.JemallocAnswer, words []string) ([]jemallocBinView, error) {
	only := -1
	if len(words) > 0 {
		n, err := strconv.Atoi(words[0])
		known := slices.ContainsFunc(a.Arenas(), func(x jemalloc.Arena) bool { return x.Index == n })
		if err != nil || !known || len(words) > 1 {
			return nil, fmt.Errorf("bins: %q: the number of an arena expected, as `arenas` lists them", strings.Join(words, " "))
		}
		only = n
	}
	views := []jemallocBinView{}
	for _, b := range a.Bins(only) {
		views = append(views, jemallocBinView{b.Class, b.Size, b.Small, b.Extents, b.Bytes, b.Regions[jemalloc.Live], b.Regions[jemalloc.Cached], b.Regions[jemalloc.Free]})
	}
	return views, nil
}

func printJemallocBins(o *screen.Output, views []jemallocBinView) {
	var rows [][]screen.Span
	count := func(n uint64) screen.Span { return screen.Plain(units.Grouped(n)) }
	for _, v := range views {
		kind := "large"
		if v.Small {
			kind = "slabs"
		}
		rows = append(rows, []screen.Span{screen.Plain(strconv.Itoa(v.Index)), count(v.Size), count(v.UsedBlocks), count(v.CachedChunks), count(v.Free), count(v.Extents), screen.Plain(o.Sizes.Short(v.Active)), screen.Plain(kind)})
	}
	o.Table([]screen.Column{right("bin"), right("size"), right("used"), right("cached"), right("free"), right("extents"), right("active"), {}}, rows)
}

// jemallocRegionView is a region of jemalloc.
type jemallocRegionView struct {
	Address string `json:"address"`
	Size    uint64 `json:"size"`
	State   string `json:"chunk_state"`
	Offset  int64  `json:"offset"` // of the address that was asked for
	Thread  int    `json:"thread,omitempty"`
	Arena   int    `json:"arena_number"`
	Extent  string `json:"extent"`
	Bytes   uint64 `json:"extent_bytes"`
	Slab    bool   `json:"slab"`
}

func viewJemallocRegion(r *heaps.RegionAnswer) jemallocRegionView {
	return jemallocRegionView{r.Addr.String(), r.Size, regionState(&r.Region), r.Offset, r.Thread, r.Extent.Arena, r.Extent.Start.String(), r.Extent.Len(), r.Extent.Slab}
}

// regionState is what a region is, in a word.
func regionState(r *jemalloc.Region) string {
	if r.Use == jemalloc.Kept && r.Extent.State != jemalloc.Active {
		return r.Extent.State.String()
	}
	return r.Use.String()
}

// regionText says what a region is.
func regionText(r *jemalloc.Region, thread int) string {
	switch r.Use {
	case jemalloc.Live:
		return "live"
	case jemalloc.Cached:
		if thread != 0 {
			return fmt.Sprintf("free, in the tcache of thread %d", thread)
		}
		return "free, in a tcache"
	case jemalloc.Free:
		return "free, in its slab"
	case jemalloc.Internal:
		return "the allocator's own: the stacks of a tcache"
	}
	if r.Extent.State != jemalloc.Active {
		return "free pages, " + r.Extent.State.String()
	}
	return "no block: the rest of its extent"
}

func printJemallocRegion(o *screen.Output, r *heaps.RegionAnswer) {
	o.Printf("region %v: %s, %s\n", r.Addr, o.Sizes.Long(r.Size), regionText(&r.Region, r.Thread))
	kind := "of its own"
	if r.Extent.Slab {
		kind = fmt.Sprintf("a slab of %s", units.Count(int(r.Extent.Len()/max(r.Size, 1)), "region"))
	}
	if r.Extent.State != jemalloc.Active {
		kind = r.Extent.State.String()
	}
	o.Printf("its extent: %s at %v, %s, jemalloc arena %d\n", o.Sizes.Long(r.Extent.Len()), r.Extent.Start, kind, r.Extent.Arena)
}

// jemallocFragmentationView tells where the memory of jemalloc goes.
type jemallocFragmentationView struct {
	System   uint64  `json:"system_bytes"` // without what is retained
	Resident *uint64 `json:"resident_bytes,omitempty"`
	Usable   uint64  `json:"usable_bytes"`
	Blocks   uint64  `json:"used_blocks"`
	Cached   uint64  `json:"cached_bytes"`
	Free     uint64  `json:"free_bytes"`
	Rest     uint64  `json:"rest_bytes"`
	Dirty    uint64  `json:"dirty_extent_bytes"`
	Muzzy    uint64  `json:"muzzy_extent_bytes"`
	Own      uint64  `json:"metadata_used_bytes"`
	slackTable
}

// jemallocFragmentation is `fragmentation` of a program whose malloc is jemalloc's.
func jemallocFragmentation(c *desk.Desk, ctx context.Context, in shell.Input, a *heaps.JemallocAnswer, limit int) error {
	all := jemallocArenaView{}
	_, own := a.Metadata()
	for _, x := range a.Arenas() {
		all.add(viewJemallocArena(&x))
		own += x.Internal
		all.Active -= x.Internal
	}
	v := jemallocFragmentationView{Usable: all.Used, Blocks: all.UsedBlocks, Cached: all.Cached, Free: all.Free, Dirty: all.Dirty, Muzzy: all.Muzzy, Own: own}
	v.Rest = all.Active - min(all.Active, all.Used+all.Cached+all.Free)
	v.System = all.Active + all.Dirty + all.Muzzy + own
	if a.Known {
		v.Resident = &a.Resident
	}
	if a.Recording {
		var err error
		if v.slackTable, err = slack(c, ctx, &a.Recorded, limit); err != nil {
			return err
		}
	}
	text := func(o *screen.Output) {
		printJemallocFragmentation(o, &v)
		printSlack(o, &v.slackTable)
		noteJemalloc(o, a)
	}
	if a.Recording {
		c.AnswerOfMemory(in, v, text)
	} else {
		c.Show(in, v, text)
	}
	return nil
}

func printJemallocFragmentation(o *screen.Output, v *jemallocFragmentationView) {
	var rows [][]screen.Span
	row := func(n uint64, text string) {
		rows = append(rows, []screen.Span{screen.Plain(o.Sizes.Short(n)), screen.Plain(units.Percent(n, v.System)), screen.Plain(text)})
	}
	usableRows(v.Fit, v.Usable, v.Blocks, row)
	row(v.Cached, "free, in the tcaches of threads")
	row(v.Free, "free, in slabs")
	row(v.Rest, "the rest of slabs and of large extents")
	row(v.Dirty, "free pages, dirty")
	row(v.Muzzy, "free pages, muzzy")
	row(v.Own, "jemalloc's own")
	row(v.System, "from the kernel")
	o.Table([]screen.Column{{Right: true}, {Right: true}, {}}, rows)
	if v.Resident != nil {
		o.Line(screen.Plain(o.Sizes.Short(*v.Resident) + " of it is in memory or in swap"))
	}
}
