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
	"hdb/heap/glibc"
	"hdb/internal/units"
	"hdb/memory"
	"hdb/session/heaps"
)

func mallocCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "heap", Group: shell.GroupAllocs, Needs: shell.NeedMemory, Short: "sum up malloc's heap, and check it for damage", Repeat: shell.RepeatNone, Run: c.Does(runMallocHeap),
			Long: "It reads the structures of glibc's malloc (2.31 to 2.43), and needs neither a recording nor debug information of the C library. Nothing runs in the process, and no page is touched that the process has not touched.\n\nSizes are those of chunks, each 8 bytes larger than its usable size: used, cached, free and top add up to what the kernel provided. Cached chunks were freed, but are kept for the next allocation of their size, in a thread's tcache or in a fastbin. The top is the part of an arena that has not yet been cut into chunks.\n\nFor a damaged heap it reports which field is corrupt, its value and what would be right, and who allocated the blocks around it, if they are recorded: code that writes beyond the end of a block damages the size of the next chunk.\n\nThe heap of jemalloc (5.2.0 to 5.3.1) is read, too, if the program has one. For each arena it shows the bytes of the active extents, divided into bytes used, bytes in threads' tcaches, and bytes free in slabs; and the bytes of the extents that the arena keeps: dirty ones, muzzy ones, whose pages the kernel may take, and retained ones without pages.\n\nExample:\n  heap"},
		{Name: "arenas", Group: shell.GroupAllocs, Needs: shell.NeedMemory, Short: "list the arenas of malloc", Repeat: shell.RepeatNone, Run: c.Does(runMallocArenas),
			Long: "Threads that allocate at the same time use different arenas, at most eight for each processor (MALLOC_ARENA_MAX). An arena other than the main one has heaps of up to 64 MiB. jemalloc's arenas are listed as in heap.\n\nExample:\n  arenas"},
		{Name: "bins", Group: shell.GroupAllocs, Needs: shell.NeedMemory, Synopsis: "[ARENA]", Args: []shell.ArgKind{shell.ArgWord}, Short: "list malloc's free chunks by free list, or jemalloc's size classes", Repeat: shell.RepeatNone, Run: c.Does(runMallocBins),
			Long: "ARENA is a number from the list that `arenas` prints; without it the bins of all arenas and the tcaches of all threads are listed. With jemalloc it lists the size classes with their regions: used, in tcaches, free in slabs.\n\nExamples:\n  bins\n  bins 0"},
	}
}

// arenaView is an arena with its sums.
type arenaView struct {
	Index        int    `json:"index"`
	Library      int    `json:"c_library,omitempty"` // from 2 on: of another copy of the C library than the program's
	Address      string `json:"address"`
	Locked       bool   `json:"locked,omitempty"`
	Threads      []int  `json:"threads"` // hdb's numbers
	Heaps        int    `json:"heap_count"`
	System       uint64 `json:"system_bytes"`
	MaxSystem    uint64 `json:"max_system_bytes"`
	Used         uint64 `json:"used_bytes"`
	UsedBlocks   uint64 `json:"used_blocks"`
	Cached       uint64 `json:"cached_bytes"`
	CachedChunks uint64 `json:"cached_chunks"`
	Free         uint64 `json:"free_bytes"`
	FreeChunks   uint64 `json:"free_chunks"`
	LargestFree  uint64 `json:"largest_free"`
	Top          uint64 `json:"top_bytes"`
	name         string
}

func viewArena(a *heaps.AllocatorAnswer, i int) arenaView {
	x := &a.Arenas()[i]
	v := arenaView{Index: i, name: arenaName(x), Address: x.Addr.String(), Locked: x.Locked, Threads: []int{}, Heaps: len(x.Heaps), System: x.SystemMem, MaxSystem: x.MaxSystem, LargestFree: a.LargestFree(i)}
	if x.Library > 0 {
		v.Library = x.Library + 1
	}
	for _, tid := range x.Threads {
		v.Threads = append(v.Threads, a.Threads[tid])
	}
	slices.Sort(v.Threads)
	v.sum(a.Sums(i))
	return v
}

// arenaName is the arena's number, with what it is.
func arenaName(x *glibc.Arena) string {
	var is []string
	if x.Main {
		is = append(is, "main")
	}
	if x.Library > 0 {
		is = append(is, fmt.Sprintf("C library %d", x.Library+1))
	}
	if len(is) == 0 {
		return strconv.Itoa(x.Index)
	}
	return fmt.Sprintf("%d (%s)", x.Index, strings.Join(is, ", "))
}

func (v *arenaView) sum(s glibc.Sums) {
	v.UsedBlocks, v.Used = s.Live()
	v.CachedChunks, v.Cached = s.Cached()
	v.Used += s.Bytes[glibc.Internal]
	v.FreeChunks, v.Free, v.Top = s.Chunks[glibc.Free], s.Bytes[glibc.Free], s.Bytes[glibc.Top]
}

// add sums up several.
func (v *arenaView) add(o arenaView) {
	v.System += o.System
	v.Used, v.UsedBlocks = v.Used+o.Used, v.UsedBlocks+o.UsedBlocks
	v.Cached, v.CachedChunks = v.Cached+o.Cached, v.CachedChunks+o.CachedChunks
	v.Free, v.FreeChunks, v.Top = v.Free+o.Free, v.FreeChunks+o.FreeChunks, v.Top+o.Top
}

// row is a line of the table of arenas.
func (v *arenaView) row(o *screen.Output, name string) []screen.Span {
	size := func(n uint64) screen.Span { return screen.Plain(o.Sizes.Short(n)) }
	count := func(n uint64) screen.Span { return screen.Plain(units.Grouped(n)) }
	return []screen.Span{size(v.System), size(v.Used), count(v.UsedBlocks), size(v.Cached), count(v.CachedChunks), size(v.Free), count(v.FreeChunks), size(v.Top), screen.Plain(name)}
}

type mallocView struct {
	Jemalloc  *jemallocView     `json:"jemalloc,omitempty"`
	Allocator string            `json:"other_allocator,omitempty"`
	Release   bool              `json:"other_release,omitempty"`
	Arenas    []arenaView       `json:"arenas"`
	Mapped    uint64            `json:"mapped_bytes"`
	Mappings  uint64            `json:"mapped_blocks"`
	TCaches   int               `json:"tcaches"`
	Resident  *uint64           `json:"resident_bytes,omitempty"`
	Fit       *memory.Fit       `json:"recorded,omitempty"`
	Damage    []desk.DamageView `json:"damaged,omitempty"`
	More      int               `json:"damage_not_listed,omitempty"`
	Hints     []string          `json:"hints,omitempty"`
}

func viewMalloc(sizes units.Sizes, a *heaps.AllocatorAnswer) mallocView {
	v := mallocView{Allocator: a.Other, Release: a.OtherRelease(), TCaches: len(a.TCaches()), More: a.MoreDamage()}
	for i := range a.Arenas() {
		v.Arenas = append(v.Arenas, viewArena(a, i))
	}
	mapped := a.Sums(-1)
	v.Mappings, v.Mapped = mapped.Live()
	if a.Known {
		v.Resident = &a.Resident
	}
	if a.Recording {
		v.Fit = &a.Recorded
	}
	v.Damage = desk.ViewDamages(a.Damage)
	for _, h := range a.Hints {
		v.Hints = append(v.Hints, hintText(sizes, h))
	}
	return v
}

// hintText says what could be done.
func hintText(sizes units.Sizes, h heaps.AllocatorHint) string {
	switch h.Kind {
	case heaps.HintTrim:
		return "malloc_trim(0) would give " + sizes.Long(h.Bytes) + " back to the kernel"
	case heaps.HintArenas:
		return fmt.Sprintf("%s other than the main one keep %s at their ends, which malloc_trim leaves: fewer arenas (MALLOC_ARENA_MAX) would keep up to that much less", units.Count(h.N, "arena"), sizes.Long(h.Bytes))
	case heaps.HintPools:
		return fmt.Sprintf("%s are freed, but in pages that live or cached blocks keep: neither malloc_trim(0) nor fewer arenas release them, only a separate pool for blocks that live longer", sizes.Long(h.Bytes))
	case heaps.HintMmapped:
		return fmt.Sprintf("%s in %s of at least 128 KiB: if single blocks were there, it is because malloc has raised its threshold for blocks with mappings of their own to %s (MALLOC_MMAP_THRESHOLD_=131072 keeps it); small blocks that were freed side by side form such chunks, too",
			sizes.Long(h.Bytes), units.Count(h.N, "free chunk"), sizes.Long(h.Threshold))
	}
	return ""
}

func runMallocHeap(_ context.Context, c *desk.Desk, in shell.Input) error {
	if in.Raw != "" {
		return fmt.Errorf("heap: %q: nothing may follow", in.Raw)
	}
	je, a, err := allocatorAnswers(c)
	if err != nil {
		return err
	}
	v := mallocView{Arenas: []arenaView{}}
	if a != nil {
		v = viewMalloc(c.Out.Sizes, a)
	}
	if je != nil {
		v.Jemalloc = viewJemalloc(je)
	}
	text := func(o *screen.Output) {
		if je != nil {
			printJemalloc(o, je, v.Jemalloc)
		}
		if a != nil {
			printMalloc(o, a, &v)
		}
	}
	if je != nil && je.Recording || a != nil && a.Recording {
		c.AnswerOfMemory(in, v, text)
	} else {
		c.Show(in, v, text)
	}
	return nil
}

// allocatorAnswers are the heaps that are walked, nil where the program has none of that kind.
func allocatorAnswers(c *desk.Desk) (*heaps.JemallocAnswer, *heaps.AllocatorAnswer, error) {
	je, err := c.Session.Mallocs.Jemalloc()
	if err != nil {
		return nil, nil, err
	}
	a, err := c.Session.Mallocs.Allocator()
	if err != nil && je == nil {
		return nil, nil, err
	}
	return je, a, nil
}

func printMalloc(o *screen.Output, a *heaps.AllocatorAnswer, v *mallocView) {
	whose := "the C library"
	if n := a.Arenas()[len(a.Arenas())-1].Library + 1; n > 1 {
		whose = fmt.Sprintf("%d copies of the C library", n)
	}
	title := fmt.Sprintf("malloc of %s: %s, %s", whose, units.Count(len(v.Arenas), "arena"), units.Count(v.TCaches, "tcache"))
	if v.Allocator != "" {
		title += "; the program also has " + v.Allocator + ", which is not shown here"
	}
	if v.Release {
		title += "; a copy of the C library that is of another release is not shown here"
	}
	o.Line(screen.Plain(title))
	var rows [][]screen.Span
	total, rest := arenaView{}, arenaView{}
	more := 0
	for i, x := range v.Arenas {
		total.add(x)
		if i >= desk.MaxArenaRows && len(v.Arenas) > desk.MaxArenaRows+1 {
			rest.add(x)
			more++
			continue
		}
		rows = append(rows, x.row(o, x.name))
	}
	if more > 0 {
		rows = append(rows, rest.row(o, units.Count(more, "other")))
	}
	if v.Mappings > 0 {
		own := arenaView{System: v.Mapped, Used: v.Mapped, UsedBlocks: v.Mappings}
		total.add(own)
		rows = append(rows, own.row(o, "mappings"))
	}
	if len(rows) > 1 {
		rows = append(rows, total.row(o, "all"))
	}
	o.Table([]screen.Column{right("system"), right("used"), right("blocks"), right("cached"), right("chunks"), right("free"), right("chunks"), right("top"), {Head: "arena"}}, rows)
	if v.Resident != nil {
		o.Line(screen.Plain(o.Sizes.Short(*v.Resident) + " of it is in memory or in swap"))
	}
	if v.Fit != nil && v.Fit.Blocks > 0 {
		o.Line(screen.Plain(fmt.Sprintf("%s recorded: %s requested, %s usable", units.CountVerb(v.Fit.Blocks, "block", "is", "are"), o.Sizes.Short(v.Fit.Requested), o.Sizes.Short(v.Fit.Usable))))
	}
	for _, x := range v.Arenas {
		if x.Locked {
			o.Line(screen.Guess(fmt.Sprintf("(a thread is inside malloc with arena %d: its lists may be half changed)", x.Index)))
		}
	}
	desk.PrintDamages(o, a.Damage, a.Threads, v.More)
	for _, h := range v.Hints {
		o.Line(screen.Plain(h))
	}
}

func runMallocArenas(_ context.Context, c *desk.Desk, in shell.Input) error {
	je, a, err := allocatorAnswers(c)
	if err != nil {
		return err
	}
	views := []arenaView{}
	for i := 0; a != nil && i < len(a.Arenas()); i++ {
		views = append(views, viewArena(a, i))
	}
	var others *jemallocView
	if je != nil {
		others = viewJemalloc(je)
	}
	c.Show(in, struct {
		Jemalloc *jemallocView `json:"jemalloc,omitempty"`
		Arenas   []arenaView   `json:"arenas"`
	}{others, views}, func(o *screen.Output) {
		if others != nil {
			printJemallocArenas(o, others.Arenas, 0)
		}
		if a == nil {
			return
		}
		var rows [][]screen.Span
		for _, v := range views {
			var threads []string
			for _, t := range v.Threads {
				threads = append(threads, strconv.Itoa(t))
			}
			lock := ""
			if v.Locked {
				lock = "locked"
			}
			rows = append(rows, []screen.Span{screen.Plain(v.name), screen.Plain(v.Address), screen.Plain(o.Sizes.Short(v.System)), screen.Plain(o.Sizes.Short(v.MaxSystem)),
				screen.Plain(strconv.Itoa(v.Heaps)), screen.Plain(o.Sizes.Short(v.Used)), screen.Plain(units.Percent(v.Used, v.System)), screen.Plain(o.Sizes.Short(v.LargestFree)), screen.Plain(strings.Join(threads, " ")), screen.Plain(lock)})
		}
		o.Table([]screen.Column{{Head: "arena"}, {Head: "address"}, right("system"), right("at most"), right("heaps"), right("used"), right("share"), right("largest free"), {Head: "threads"}, {}}, rows)
	})
	return nil
}

// binView is a list of free chunks.
type binView struct {
	Kind   string `json:"kind"`
	Index  int    `json:"index"`
	Arena  *int   `json:"arena_number,omitempty"`
	Thread int    `json:"thread,omitempty"` // of a tcache
	Least  uint64 `json:"low_bytes,omitempty"`
	Most   uint64 `json:"high_bytes,omitempty"`
	Count  uint64 `json:"free_chunks"`
	Bytes  uint64 `json:"free_bytes"`
}

func runMallocBins(_ context.Context, c *desk.Desk, in shell.Input) error {
	je, a, err := allocatorAnswers(c)
	if err != nil {
		return err
	}
	if je != nil {
		views, err := jemallocBins(je, in.Args)
		if err != nil {
			return err
		}
		c.Show(in, struct {
			Bins []jemallocBinView `json:"bins"`
		}{views}, func(o *screen.Output) { printJemallocBins(o, views) })
		return nil
	}
	only := -1
	if len(in.Args) > 0 {
		if only, err = strconv.Atoi(in.Args[0]); err != nil || only < 0 || only >= len(a.Arenas()) || len(in.Args) > 1 {
			return fmt.Errorf("bins: %q: the number of an arena expected, 0 to %d", strings.Join(in.Args, " "), len(a.Arenas())-1)
		}
	}
	views := []binView{}
	add := func(b glibc.Bin) {
		v := binView{Kind: b.Kind.String(), Index: b.Index, Least: b.Least, Most: b.Most, Count: b.Count, Bytes: b.Bytes}
		if b.Arena >= 0 {
			v.Arena = &b.Arena
		} else {
			v.Thread = a.Threads[b.TID]
		}
		views = append(views, v)
	}
	if only < 0 {
		caches := slices.Clone(a.TCaches())
		slices.SortFunc(caches, func(x, y glibc.ThreadCache) int { return a.Threads[x.TID] - a.Threads[y.TID] })
		for _, t := range caches {
			for _, b := range t.Bins {
				add(b)
			}
		}
	}
	for i := range a.Arenas() {
		if only < 0 || i == only {
			for _, b := range a.Bins(i) {
				add(b)
			}
		}
	}
	c.Show(in, struct {
		Bins []binView `json:"bins"`
	}{views}, func(o *screen.Output) { printBins(o, views) })
	return nil
}

func printBins(o *screen.Output, views []binView) {
	if len(views) == 0 {
		o.Printf("all lists of free chunks are empty\n")
		return
	}
	var rows [][]screen.Span
	for _, v := range views {
		whose := fmt.Sprintf("thread %d", v.Thread)
		if v.Arena != nil {
			whose = fmt.Sprintf("arena %d", *v.Arena)
		}
		sizes := ""
		switch {
		case v.Kind == glibc.BinUnsorted.String():
		case v.Most == 0:
			sizes = "from " + units.Grouped(v.Least)
		case v.Most > v.Least:
			sizes = units.Grouped(v.Least) + " to " + units.Grouped(v.Most)
		default:
			sizes = units.Grouped(v.Least)
		}
		rows = append(rows, []screen.Span{screen.Plain(whose), screen.Plain(v.Kind), screen.Plain(strconv.Itoa(v.Index)), screen.Plain(sizes), screen.Plain(units.Grouped(v.Count)), screen.Plain(o.Sizes.Short(v.Bytes))})
	}
	o.Table([]screen.Column{{Head: "of"}, {Head: "kind"}, right("bin"), right("chunk sizes"), right("chunks"), right("bytes")}, rows)
}
