package allocs

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/heap/glibc"
	"hdb/internal/addr"
	"hdb/internal/units"
	"hdb/memory"
	"hdb/query"
	"hdb/session/heaps"
)

func chunkCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "chunk", Group: shell.GroupAllocs, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Needs: shell.NeedMemory, Synopsis: "ADDRESS", Short: "decode the header of the malloc chunk that contains an address", Repeat: shell.RepeatNone, Run: c.Does(runChunk),
			Long: "The fields are those of glibc's struct malloc_chunk. The chunks before and after it are shown, with who allocated their blocks, if that is recorded. With jemalloc it shows the region of a slab, or the extent. ADDRESS may be an expression, as for x; #EVENT is the block that an event made.\n\nExamples:\n  chunk 0x55555578a2c0\n  chunk list->head\n  chunk #4711"},
		{Name: "fragmentation", Group: shell.GroupAllocs, Needs: shell.NeedMemory, Synopsis: "[N]", Args: []shell.ArgKind{shell.ArgWord}, Short: "show where malloc uses more memory than the program asked for", Repeat: shell.RepeatNone, Run: c.Does(runFragmentation),
			Long: "Usable bytes are those of malloc_usable_size(3). With a recording it also shows how many of them the program requested, and the N functions (by default 10) whose blocks have the most bytes beyond the requested size. Blocks from before the recording are counted separately. It shows jemalloc's memory if the program uses no other malloc.\n\nExample:\n  fragmentation 5"},
	}
}

// chunkView is a chunk of the heap.
type chunkView struct {
	Chunk    string              `json:"header"`
	Address  string              `json:"address"`
	State    string              `json:"chunk_state"`
	Arena    int                 `json:"arena_number"` // -1 of a mmapped chunk
	Size     uint64              `json:"size"`
	Usable   uint64              `json:"usable_bytes"`
	Offset   int64               `json:"offset"` // of the address that was asked for
	PrevSize string              `json:"prev_size"`
	Word     string              `json:"size_field"`
	Flags    []string            `json:"size_flags"`
	FD       string              `json:"fd,omitempty"`
	BK       string              `json:"bk,omitempty"`
	FDSize   string              `json:"fd_nextsize,omitempty"`
	BKSize   string              `json:"bk_nextsize,omitempty"`
	Next     string              `json:"next,omitempty"`
	Key      string              `json:"key,omitempty"`
	Thread   int                 `json:"thread,omitempty"` // whose tcache has it
	Event    *desk.EventView     `json:"event,omitempty"`
	Frames   []desk.FrameView    `json:"frames,omitempty"`
	Before   *desk.NeighbourView `json:"before,omitempty"`
	Behind   *desk.NeighbourView `json:"behind,omitempty"`
	Damage   []desk.DamageView   `json:"damaged,omitempty"`
}

func viewChunk(a *heaps.ChunkAnswer) chunkView {
	v := chunkView{Chunk: a.Header.Chunk.String(), Address: a.Addr.String(), State: a.State.String(), Arena: a.Header.Arena, Size: a.Bytes(), Usable: a.HeapNeighbour.Size, Offset: a.Offset,
		PrevSize: fmt.Sprintf("%#x", a.PrevSize), Word: fmt.Sprintf("%#x", a.Header.Size), Flags: chunkFlags(&a.Header), Thread: a.Cache,
		Before: desk.ViewNeighbour(a.Before), Behind: desk.ViewNeighbour(a.Behind)}
	if n := desk.ViewNeighbour(&a.HeapNeighbour); n.Event != nil {
		v.Event, v.Frames = n.Event, n.Frames
	}
	switch a.State {
	case glibc.Free:
		v.FD, v.BK = a.FD.String(), a.BK.String()
		if a.FDNextSize != 0 || a.BKNextSize != 0 {
			v.FDSize, v.BKSize = a.FDNextSize.String(), a.BKNextSize.String()
		}
	case glibc.TCache:
		v.Next, v.Key = a.Next.String(), fmt.Sprintf("%#x", a.Key)
	case glibc.FastBin:
		v.FD = a.Next.String()
	}
	for _, d := range a.Damage {
		v.Damage = append(v.Damage, desk.DamageView{Arena: d.Arena, Chunk: d.Chunk.String(), Field: d.Field, Found: d.Found(), Expected: d.Expected(), Passing: d.Passing})
	}
	return v
}

func chunkFlags(x *glibc.Header) []string {
	flags := []string{}
	if x.PrevInUse() {
		flags = append(flags, "PREV_INUSE")
	}
	if x.Mmapped() {
		flags = append(flags, "IS_MMAPPED")
	}
	if x.NonMainArena() {
		flags = append(flags, "NON_MAIN_ARENA")
	}
	return flags
}

func runChunk(_ context.Context, c *desk.Desk, in shell.Input) error {
	at, err := c.Eval.AddressOf(in, strings.TrimSpace(in.Raw))
	if err != nil {
		return err
	}
	r, err := c.Session.Mallocs.Region(at)
	if err != nil {
		return fmt.Errorf("chunk: %w", err)
	}
	if r != nil {
		c.Show(in, viewJemallocRegion(r), func(o *screen.Output) { printJemallocRegion(o, r) })
		return nil
	}
	a, err := c.Session.Mallocs.Chunk(at)
	if err != nil {
		return fmt.Errorf("chunk: %w", err)
	}
	v := viewChunk(a)
	c.Show(in, v, func(o *screen.Output) { printChunk(o, a, &v) })
	return nil
}

func printChunk(o *screen.Output, a *heaps.ChunkAnswer, v *chunkView) {
	title := fmt.Sprintf("chunk %s: %s, %s", v.Chunk, o.Sizes.Long(v.Size), desk.StateWords[a.State])
	if a.Cache != 0 {
		title += fmt.Sprintf(" of thread %d", a.Cache)
	}
	switch {
	case a.Arena != nil && a.Arena.Main:
		title += ", main arena"
	case a.Arena != nil:
		title += fmt.Sprintf(", arena %d", a.Arena.Index)
	}
	if a.Arena != nil && a.Arena.Library > 0 {
		title += fmt.Sprintf(" of C library %d", a.Arena.Library+1)
	}
	o.Line(screen.Plain(title))
	o.Line(screen.Plain(fmt.Sprintf("its memory: %s at %s", o.Sizes.Long(v.Usable), v.Address)))
	var rows [][]screen.Span
	row := func(field, value, meaning string) {
		rows = append(rows, []screen.Span{screen.Plain(field), screen.Plain(value), screen.Plain(meaning)})
	}
	meaning := "the last word of the block before it"
	switch {
	case a.Mmapped():
		meaning = o.Sizes.Long(a.PrevSize) + " of its mapping in front of it"
	case !a.PrevInUse():
		meaning = "size of the free chunk before it"
	}
	row("prev_size", v.PrevSize, meaning)
	row("size", v.Word, strings.Join(append([]string{o.Sizes.Long(a.Bytes())}, v.Flags...), ", "))
	for _, link := range []struct {
		name, value string
		to          addr.Run
	}{{"fd", v.FD, cmp.Or(a.FD, a.Next)}, {"bk", v.BK, a.BK}, {"fd_nextsize", v.FDSize, a.FDNextSize}, {"bk_nextsize", v.BKSize, a.BKNextSize}, {"next", v.Next, a.Next}} {
		if link.value != "" {
			row(link.name, link.value, linkText(a, link.to))
		}
	}
	if v.Key != "" {
		row("key", v.Key, "")
	}
	o.Table([]screen.Column{{}, {}, {}}, rows)
	if a.Event != nil {
		o.Line(screen.Plain("made by: " + desk.MakerText(o, &a.HeapNeighbour)))
	}
	for _, n := range []struct {
		where string
		*heaps.HeapNeighbour
	}{{"in front: ", a.Before}, {"behind: ", a.Behind}} {
		if n.HeapNeighbour != nil {
			o.Line(screen.Plain(n.where + desk.NeighbourText(o, n.HeapNeighbour)))
		}
	}
	for _, d := range a.Damage {
		o.Line(screen.Warning("! " + d.String()))
	}
}

// linkText says what a link leads to, if that is no chunk.
func linkText(a *heaps.ChunkAnswer, to addr.Run) string {
	switch {
	case to == 0:
		return "the end of the list"
	case a.Arena != nil && a.Arena.Struct().Contains(to):
		return "the bin's head"
	}
	return ""
}

type fragmentationView struct {
	System     uint64  `json:"system_bytes"`
	Resident   *uint64 `json:"resident_bytes,omitempty"`
	Usable     uint64  `json:"usable_bytes"`
	Blocks     uint64  `json:"used_blocks"`
	Headers    uint64  `json:"header_bytes"`
	Cached     uint64  `json:"cached_bytes"`
	Free       uint64  `json:"free_bytes"`
	FreeChunks uint64  `json:"free_chunks"`
	Largest    uint64  `json:"largest_free"`
	Top        uint64  `json:"top_bytes"`
	Rest       uint64  `json:"rest_bytes"`
	slackTable
	Hints []string `json:"hints,omitempty"`
}

func runFragmentation(ctx context.Context, c *desk.Desk, in shell.Input) error {
	limit, err := rowCount(in, 10)
	if err != nil {
		return err
	}
	je, a, err := allocatorAnswers(c)
	if err != nil {
		return err
	}
	if a == nil {
		return jemallocFragmentation(c, ctx, in, je, limit)
	}
	v := fragmentationView{}
	var all glibc.Sums
	for i := -1; i < len(a.Arenas()); i++ {
		all.Add(a.Sums(i))
		v.Largest = max(v.Largest, a.LargestFree(i))
		if i >= 0 {
			v.System += a.Arenas()[i].SystemMem
		}
	}
	mapped := a.Sums(-1).Bytes[glibc.Mmapped]
	v.System += mapped
	for b := range a.Blocks() {
		v.Usable += b.Size
		v.Blocks++
	}
	_, used := all.Live()
	v.Headers = used - v.Usable
	_, v.Cached = all.Cached()
	v.Free, v.FreeChunks, v.Top = all.Bytes[glibc.Free], all.Chunks[glibc.Free], all.Bytes[glibc.Top]
	sum := used + v.Cached + v.Free + v.Top
	v.Rest = v.System - min(v.System, sum)
	if a.Known {
		v.Resident = &a.Resident
	}
	for _, h := range a.Hints {
		v.Hints = append(v.Hints, hintText(c.Out.Sizes, h))
	}
	if a.Recording {
		if v.slackTable, err = slack(c, ctx, &a.Recorded, limit); err != nil {
			return err
		}
	}
	text := func(o *screen.Output) {
		printFragmentation(o, &v)
		if je != nil {
			o.Line(screen.Plain("the program also uses jemalloc: see heap and bins for its memory"))
		}
	}
	if a.Recording {
		c.AnswerOfMemory(in, v, text)
	} else {
		c.Show(in, v, text)
	}
	return nil
}

// A slackTable is how the recorded blocks fill what malloc gave them, in all and by function.
type slackTable struct {
	Fit  *memory.Fit     `json:"recorded,omitempty"`
	Rows []heaps.SiteFit `json:"rows,omitempty"`

	total int // rows, of which these are the first
}

// slack is the table of the recorded blocks, with at most this number of rows.
func slack(c *desk.Desk, ctx context.Context, all *memory.Fit, limit int) (slackTable, error) {
	sites, err := c.Session.Mallocs.SlackBySite(ctx)
	if err != nil {
		return slackTable{}, err
	}
	return slackTable{all, sites[:min(limit, len(sites))], len(sites)}, nil
}

func printFragmentation(o *screen.Output, v *fragmentationView) {
	var rows [][]screen.Span
	row := func(n uint64, text string) {
		rows = append(rows, []screen.Span{screen.Plain(o.Sizes.Short(n)), screen.Plain(units.Percent(n, v.System)), screen.Plain(text)})
	}
	usableRows(v.Fit, v.Usable, v.Blocks, row)
	row(v.Headers, "their headers")
	row(v.Cached, "free, cached for the same sizes")
	free := "free, in bins"
	if v.FreeChunks > 0 {
		free += fmt.Sprintf(": %s, the largest of %s", units.Count(v.FreeChunks, "chunk"), o.Sizes.Long(v.Largest))
	}
	row(v.Free, free)
	row(v.Top, "at the ends of arenas")
	row(v.Rest, "malloc's own, or in damaged chunks")
	row(v.System, "from the kernel")
	o.Table([]screen.Column{{Right: true}, {Right: true}, {}}, rows)
	if v.Resident != nil {
		o.Line(screen.Plain(o.Sizes.Short(*v.Resident) + " of it is in memory or in swap"))
	}
	printSlack(o, &v.slackTable)
	for _, h := range v.Hints {
		o.Line(screen.Plain(h))
	}
}

// printSlack lists the functions whose blocks have most that they did not ask for.
func printSlack(o *screen.Output, t *slackTable) {
	if len(t.Rows) == 0 {
		return
	}
	o.Line()
	var rows [][]screen.Span
	for _, s := range t.Rows {
		rows = append(rows, []screen.Span{screen.Plain(o.Sizes.Short(s.Slack())), screen.Plain(o.Sizes.Short(s.Requested)), screen.Plain(units.Grouped(s.Blocks)), screen.Func(siteName(o, query.PerFunction, s.Site)), sitePlace(s.Site, query.PerFunction)})
	}
	o.Table([]screen.Column{right("not asked for"), right("asked for"), right("blocks"), {Head: "function"}, {}}, rows)
	if len(t.Rows) < t.total {
		o.Printf("%d of %s; `fragmentation %d` lists all\n", len(t.Rows), units.Count(t.total, "function"), t.total)
	}
}

// usableRows are the sizes of blocks, and what the program asked for if they are recorded.
func usableRows(fit *memory.Fit, usable, blocks uint64, row func(n uint64, text string)) {
	if f := fit; f != nil && f.Blocks > 0 {
		row(f.Requested, fmt.Sprintf("requested, in %s that are recorded", units.Count(f.Blocks, "block")))
		row(f.Usable-min(f.Usable, f.Requested), "more that these can use: sizes are rounded up")
		if other := blocks - uint64(f.Blocks); other > 0 {
			row(usable-f.Usable, fmt.Sprintf("usable in %s that are not recorded", units.Count(other, "block")))
		}
	} else {
		row(usable, fmt.Sprintf("usable in %s", units.Count(blocks, "block")))
	}
}
