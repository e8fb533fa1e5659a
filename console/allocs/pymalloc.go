package allocs

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/addr"
	"hdb/internal/units"
	"hdb/python/pymalloc"
	"hdb/session/cpython"
)

// PymallocCommands are the words of py on heaps of CPython.
func PymallocCommands(c *desk.Desk) []*shell.Command {
	return append([]*shell.Command{
		{Name: "stats", Short: "show statistics of CPython's small-block allocator", Needs: shell.NeedObjects, Repeat: shell.RepeatNone, Run: c.Does(runPythonStats),
			Long: "These are the figures of sys._debugmallocstats(), read from memory: the pools and blocks of each size class, and what the arenas are used for. Nothing runs in the process.\n\nExample:\n  py stats"},
		{Name: "arenas", Short: "list the arenas of CPython's allocator, the emptiest first", Needs: shell.NeedObjects, Repeat: shell.RepeatNone, Run: c.Does(runPythonArenas),
			Long: "CPython frees an arena only when all its pools are free: a few blocks in use keep a whole arena. `py pools ARENA` shows its pools.\n\nExample:\n  py arenas"},
		{Name: "pools", Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "[CLASS | ADDRESS]", Short: "list the pools of CPython's allocator, the emptiest first", Needs: shell.NeedObjects, Repeat: shell.RepeatNone, Run: c.Does(runPythonPools),
			Long: "Full pools are only counted. CLASS is a size class of py stats; ADDRESS is in an arena, and selects its pools. Without either it lists all pools.\n\nExamples:\n  py pools 3\n  py pools 0x7ffff7a00000"},
	}, append(pythonBlockCommands(c), pythonConfigCommand(c))...)
}

// pythonHeaps are the heaps of the process. Why others cannot be read is said before.
func pythonHeaps(c *desk.Desk, in shell.Input) ([]cpython.Heap, error) {
	heaps, err := c.Session.PythonHeaps.All()
	if len(heaps) == 0 {
		return nil, fmt.Errorf("%s: %w", in.Name, err)
	}
	if err != nil {
		c.Say("(%v)", err)
	}
	return heaps, nil
}

// heapTitle says which of several heaps one is.
func heapTitle(h cpython.Heap, all []cpython.Heap) string {
	title := "CPython " + h.Runtime.Version
	for _, other := range all {
		if other.Runtime != h.Runtime {
			title += " in " + filepath.Base(h.Runtime.Path)
			break
		}
	}
	for _, other := range all {
		if other.Runtime == h.Runtime && other.Heap != h.Heap {
			title += ", " + interpretersNamed(h.Interpreters)
			break
		}
	}
	return title
}

func interpretersNamed(ids []int64) string {
	var parts []string
	for _, id := range ids {
		parts = append(parts, strconv.FormatInt(id, 10))
	}
	if len(parts) == 1 {
		return "interpreter " + parts[0]
	}
	return "interpreters " + strings.Join(parts, ", ")
}

type pythonClassView struct {
	Class     int `json:"size_class"`
	Size      int `json:"size"`
	Pools     int `json:"pools"`
	Used      int `json:"used_blocks"`
	Available int `json:"free_blocks"`
}

type pythonHeapView struct {
	Version      string  `json:"version"`
	Path         string  `json:"path"`
	Interpreters []int64 `json:"interpreters,omitempty"` // that use it, from 3.12 on
}

func viewPythonHeap(h cpython.Heap) pythonHeapView {
	return pythonHeapView{h.Runtime.Version, h.Runtime.Path, h.Interpreters}
}

type pythonStatsView struct {
	pythonHeapView
	Classes      []pythonClassView `json:"classes"`
	Arenas       int               `json:"arenas"`
	Allocated    uint64            `json:"arenas_mapped"` // since the start
	Highwater    uint64            `json:"arenas_peak"`
	ArenaSize    int               `json:"arena_size"`
	PoolSize     int               `json:"pool_size"`
	Used         uint64            `json:"used_bytes"`
	Available    uint64            `json:"free_bytes"`
	FreePools    int               `json:"free_pools"`
	Headers      uint64            `json:"header_bytes"`
	Quantization uint64            `json:"quantization_bytes"`
	Alignment    uint64            `json:"alignment_bytes"`
	MidNodes     int               `json:"tree_inner_nodes,omitempty"`
	BottomNodes  int               `json:"tree_outer_nodes,omitempty"`
	Tree         uint64            `json:"tree_bytes,omitempty"` // next to the arenas
	FreeLists    []pythonFreeView  `json:"free_lists,omitempty"`
	Unread       string            `json:"free_lists_unread,omitempty"` // why they are not known
	Damaged      []string          `json:"damaged,omitempty"`
}

// pythonFreeView are objects that CPython keeps to use again.
type pythonFreeView struct {
	Class string `json:"class"`
	Size  int    `json:"size"`
	Count int    `json:"free_objects"`
}

func viewPythonStats(h cpython.Heap, s pymalloc.Stats) pythonStatsView {
	v := pythonStatsView{pythonHeapView: viewPythonHeap(h), Classes: []pythonClassView{}, Arenas: len(h.Arenas), Allocated: h.Allocated, Highwater: h.Highwater,
		ArenaSize: h.ArenaSize, PoolSize: h.PoolSize, Used: s.UsedBytes, Available: s.AvailableBytes, FreePools: s.FreePools, Headers: s.HeaderBytes,
		Quantization: s.QuantizationBytes, Alignment: s.AlignmentBytes, MidNodes: h.MidNodes, BottomNodes: h.BottomNodes, Tree: h.TreeBytes, Damaged: texts(s.Damaged)}
	for _, k := range s.Classes {
		v.Classes = append(v.Classes, pythonClassView{k.Class, k.Size, k.Pools, k.Used, k.Available})
	}
	lists, err := h.FreeLists()
	if err != nil {
		v.Unread = err.Error()
	}
	for _, l := range lists {
		v.FreeLists = append(v.FreeLists, pythonFreeView(l))
	}
	return v
}

func texts(errs []error) (all []string) {
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

func runPythonStats(_ context.Context, c *desk.Desk, in shell.Input) error {
	heaps, err := pythonHeaps(c, in)
	if err != nil {
		return err
	}
	views := []pythonStatsView{}
	for _, h := range heaps {
		views = append(views, viewPythonStats(h, h.Stats()))
	}
	c.Show(in, struct {
		Heaps []pythonStatsView `json:"heaps"`
	}{views}, func(o *screen.Output) {
		for i, v := range views {
			if i > 0 {
				o.Line()
			}
			printPythonStats(o, heapTitle(heaps[i], heaps), v)
		}
	})
	return nil
}

func printPythonStats(o *screen.Output, title string, v pythonStatsView) {
	o.Line(screen.Plain(title + ": blocks of up to 512 bytes, in pools of " + o.Sizes.Argument(uint64(v.PoolSize))))
	var rows [][]screen.Span
	for _, k := range v.Classes {
		rows = append(rows, []screen.Span{screen.Plain(strconv.Itoa(k.Class)), screen.Plain(strconv.Itoa(k.Size)), screen.Plain(units.Grouped(k.Pools)), screen.Plain(units.Grouped(k.Used)),
			screen.Plain(units.Grouped(k.Available)), screen.Plain(o.Sizes.Short(uint64(k.Used) * uint64(k.Size)))})
	}
	o.Table([]screen.Column{right("class"), right("size"), right("pools"), right("in use"), right("free"), right("bytes in use")}, rows)
	o.Line(screen.Plain(fmt.Sprintf("%s of %s: %s mapped since the start, %s at most", units.Count(v.Arenas, "arena"), o.Sizes.Argument(uint64(v.ArenaSize)), units.Grouped(v.Allocated), units.Grouped(v.Highwater))))
	parts := []struct {
		bytes uint64
		what  string
	}{
		{v.Used, "in blocks in use"},
		{v.Available, "in free blocks of pools in use"},
		{uint64(v.FreePools) * uint64(v.PoolSize), fmt.Sprintf("in %s", units.Count(v.FreePools, "free pool"))},
		{v.Headers, "in headers of pools"},
		{v.Quantization, "behind the last blocks of pools"},
		{v.Alignment, "outside of pools: arenas that are not aligned"},
	}
	rows = nil
	var sum uint64
	for _, p := range parts {
		sum += p.bytes
		rows = append(rows, []screen.Span{screen.Plain(o.Sizes.Short(p.bytes)), screen.Plain(p.what)})
	}
	rows = append(rows, []screen.Span{screen.Plain(o.Sizes.Short(sum)), screen.Plain("in all")})
	o.Table([]screen.Column{{Right: true}, {}}, rows)
	if v.Tree > 0 {
		o.Line(screen.Plain(fmt.Sprintf("the tree that finds arenas by address takes %s more: %s, %s", o.Sizes.Short(v.Tree), units.Count(v.MidNodes, "inner node"), units.Count(v.BottomNodes, "outer node"))))
	}
	printFreeLists(o, v)
	printDamaged(o, v.Damaged)
}

// printFreeLists sums up the objects that are kept to be used again.
func printFreeLists(o *screen.Output, v pythonStatsView) {
	var parts []string
	objects, bytes, tuples := 0, 0, 0
	for _, l := range v.FreeLists {
		objects += l.Count
		bytes += l.Count * l.Size
		if strings.HasSuffix(l.Class, " PyTupleObject") {
			tuples += l.Count
		} else if l.Count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", l.Count, l.Class))
		}
	}
	if tuples > 0 {
		parts = append(parts, fmt.Sprintf("%d PyTupleObject", tuples))
	}
	if objects > 0 {
		o.Line(screen.Plain(fmt.Sprintf("of the blocks in use, %s (%s) wait in free lists: %s", units.Count(objects, "object"), o.Sizes.Short(uint64(bytes)), strings.Join(parts, ", "))))
	}
	if v.Unread != "" {
		o.Line(screen.Guess("(free lists are not known: " + v.Unread + ")"))
	}
}

func printDamaged(o *screen.Output, damaged []string) {
	for _, d := range damaged {
		o.Line(screen.Guess("! " + d))
	}
}

// maxPythonRows is how many arenas or pools are listed: the rest is summed up.
const maxPythonRows = 40

type pythonArenaView struct {
	Address    string `json:"address"`
	Index      int    `json:"index"` // in the allocator's array
	Size       int    `json:"size"`
	Pools      int    `json:"pools"`
	FreePools  int    `json:"free_pools"`
	UsedBlocks int    `json:"used_blocks"`
	UsedBytes  uint64 `json:"used_bytes"`
}

func runPythonArenas(_ context.Context, c *desk.Desk, in shell.Input) error {
	heaps, err := pythonHeaps(c, in)
	if err != nil {
		return err
	}
	type heapView struct {
		pythonHeapView
		Arenas  []pythonArenaView `json:"arenas"`
		Damaged []string          `json:"damaged,omitempty"`
	}
	views := []heapView{}
	for _, h := range heaps {
		s := h.Stats()
		v := heapView{viewPythonHeap(h), []pythonArenaView{}, texts(s.Damaged)}
		slices.SortStableFunc(s.Arenas, func(a, b pymalloc.ArenaStats) int { return cmp.Compare(a.UsedBytes, b.UsedBytes) })
		for _, a := range s.Arenas {
			v.Arenas = append(v.Arenas, pythonArenaView{fmt.Sprintf("%#x", uint64(a.At)), a.Index, h.ArenaSize, a.Pools, a.FreePools, a.UsedBlocks, a.UsedBytes})
		}
		views = append(views, v)
	}
	c.Show(in, struct {
		Heaps []heapView `json:"heaps"`
	}{views}, func(o *screen.Output) {
		for i, v := range views {
			if i > 0 {
				o.Line()
			}
			printPythonArenas(o, heapTitle(heaps[i], heaps), v.Arenas)
			printDamaged(o, v.Damaged)
		}
	})
	return nil
}

func printPythonArenas(o *screen.Output, title string, arenas []pythonArenaView) {
	var size, used, emptiest uint64
	few := 0
	for _, a := range arenas {
		size += uint64(a.Size)
		used += a.UsedBytes
		if a.UsedBytes*10 < uint64(a.Size) {
			few++
			emptiest += uint64(a.Size)
		}
	}
	o.Line(screen.Plain(fmt.Sprintf("%s: %s, %s of %s in blocks in use", title, units.Count(len(arenas), "arena"), o.Sizes.Short(used), o.Sizes.Short(size))))
	var rows [][]screen.Span
	for _, a := range arenas[:min(len(arenas), maxPythonRows)] {
		rows = append(rows, []screen.Span{screen.Plain(a.Address), screen.Plain(o.Sizes.Short(uint64(a.Size))), screen.Plain(strconv.Itoa(a.Pools)), screen.Plain(strconv.Itoa(a.FreePools)),
			screen.Plain(units.Grouped(a.UsedBlocks)), screen.Plain(o.Sizes.Short(a.UsedBytes)), screen.Plain(units.Percent(a.UsedBytes, uint64(a.Size)))})
	}
	o.Table([]screen.Column{{Head: "arena"}, right("size"), right("pools"), right("free"), right("blocks"), right("bytes in use"), right("full")}, rows)
	if more := len(arenas) - maxPythonRows; more > 0 {
		o.Line(screen.Guess("(" + units.Count(more, "fuller arena") + " more; --json lists all)"))
	}
	if few > 0 {
		o.Line(screen.Plain(fmt.Sprintf("%s, %s, less than a tenth full: few blocks keep them", units.Count(few, "arena"), o.Sizes.Short(emptiest))))
	}
}

func right(head string) screen.Column { return screen.Column{Head: head, Right: true} }

type pythonPoolView struct {
	Address string `json:"address"`
	Class   int    `json:"size_class"` // -1 of one that is free or damaged
	Size    int    `json:"size"`       // of a block
	Blocks  int    `json:"blocks"`
	Used    int    `json:"used_blocks"`
}

// poolsAsked are the pools that `py pools` shall list.
type poolsAsked struct {
	class int      // -1: of all classes
	at    addr.Run // 0: of all arenas
}

func askedPools(c *desk.Desk, in shell.Input) (poolsAsked, error) {
	text := strings.TrimSpace(in.Raw)
	if text == "" {
		return poolsAsked{class: -1}, nil
	}
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && n < pymalloc.Classes {
		return poolsAsked{class: n}, nil
	}
	at, err := c.Eval.AddressOf(in, text)
	return poolsAsked{-1, addr.Run(at)}, err
}

func runPythonPools(_ context.Context, c *desk.Desk, in shell.Input) error {
	asked, err := askedPools(c, in)
	if err != nil {
		return err
	}
	heaps, err := pythonHeaps(c, in)
	if err != nil {
		return err
	}
	views, free := []pythonPoolView{}, 0
	var damaged []error
	found := asked.at == 0
	for _, h := range heaps {
		arenas := h.Arenas
		if asked.at != 0 {
			a, ok := h.ArenaOf(asked.at)
			if !ok {
				continue
			}
			found, arenas = true, []pymalloc.Arena{a}
		}
		for _, a := range arenas {
			h.Pools(a, func(p *pymalloc.Pool, err error) bool {
				switch {
				case err != nil:
					damaged = append(damaged, err)
				case p.Free():
					free++
				case asked.class < 0 || p.Class == asked.class:
					views = append(views, pythonPoolView{fmt.Sprintf("%#x", uint64(p.At)), p.Class, p.Size, p.Blocks, p.Used})
				}
				return true
			})
		}
	}
	if !found {
		return fmt.Errorf("py pools: %#x is in no arena; py arenas lists them", uint64(asked.at))
	}
	slices.SortStableFunc(views, func(a, b pythonPoolView) int { return cmp.Compare(a.Used*a.Size, b.Used*b.Size) })
	c.Show(in, struct {
		Pools   []pythonPoolView `json:"pools"`
		Free    int              `json:"free_pools"`
		Damaged []string         `json:"damaged,omitempty"`
	}{views, free, texts(damaged)}, func(o *screen.Output) {
		printPythonPools(o, views, free)
		printDamaged(o, texts(damaged[:min(len(damaged), maxPythonRows)]))
	})
	return nil
}

func printPythonPools(o *screen.Output, views []pythonPoolView, free int) {
	var rows [][]screen.Span
	blocks, used, full := 0, 0, 0
	for _, p := range views {
		blocks += p.Blocks
		used += p.Used
		if p.Used == p.Blocks {
			full++
		} else if len(rows) < maxPythonRows {
			rows = append(rows, []screen.Span{screen.Plain(p.Address), screen.Plain(strconv.Itoa(p.Class)), screen.Plain(strconv.Itoa(p.Size)), screen.Plain(strconv.Itoa(p.Used)),
				screen.Plain(strconv.Itoa(p.Blocks - p.Used)), screen.Plain(units.Percent(uint64(p.Used), uint64(p.Blocks)))})
		}
	}
	if len(rows) > 0 {
		o.Table([]screen.Column{{Head: "pool"}, right("class"), right("size"), right("in use"), right("free"), right("full")}, rows)
	}
	if more := len(views) - full - len(rows); more > 0 {
		o.Line(screen.Guess("(" + units.Count(more, "fuller pool") + " more; --json lists all)"))
	}
	o.Line(screen.Plain(fmt.Sprintf("%s with %s in use of %s, %s of them full; %s without", units.Count(len(views), "pool"), units.Count(used, "block"), units.Grouped(blocks), units.Grouped(full), units.Count(free, "pool"))))
}
