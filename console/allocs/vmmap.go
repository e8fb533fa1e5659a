package allocs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/heap/regions"
	"hdb/internal/flags"
	"hdb/internal/units"
	"hdb/query"
)

func vmmapCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "vmmap", Group: shell.GroupData, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "[-resident] [KIND | ADDRESS]\n-layers", Short: "show who owns the process's memory, and how much of it is resident", Needs: shell.NeedMemory, Repeat: shell.RepeatNone, Run: c.Does(runVmmap),
			Long: "Each mapped byte has one owner: code, rodata, data and bss of a module, the stack of a thread (used, unused, its guard), thread-local storage, an allocator's heap, a language runtime, a mapping of the program (anonymous, shared, file, reserved), the kernel, or hdb. KIND is one of these words; ADDRESS selects the region that contains it. -resident leaves out regions without resident pages, and sorts by resident size, largest first.\n\nThe layers at the end sum up the regions; -layers shows them alone. heap-used is the part of an allocator's memory that is in the program's blocks, and blocks of pools in mappings of the program. An allocator whose blocks are not known without a recording has one layer, with its name. `all` is the program's total; adding the next line, hdb's own memory in the process, gives the process's RSS. `mapped by` is the function whose recorded call made the mapping, or most of it. A ~ marks numbers whose split between owners is estimated. A core file does not say what was resident.\n\nExamples:\n  vmmap\n  vmmap -resident\n  vmmap stack\n  vmmap &table\n  vmmap -layers"},
		whatCommand(c),
	}
}

// A vmmapQuestion is what is asked.
type vmmapQuestion struct {
	resident, layers bool
	only             func(*regions.Region) bool // nil: all
}

func parseVmmap(c *desk.Desk, in shell.Input) (q vmmapQuestion, err error) {
	words, err := flags.All(strings.Fields(in.Raw), func(name string) flags.Flag {
		switch name {
		case "resident":
			return flags.On(&q.resident)
		case "layers":
			return flags.On(&q.layers)
		}
		return flags.Flag{}
	})
	if err != nil {
		return q, err
	}
	word := strings.Join(words, " ")
	switch kind, ok := regions.ParseKind(word); {
	case word == "":
	case ok:
		q.only = func(r *regions.Region) bool {
			return r.Kind == kind || strings.HasPrefix(r.Kind.String(), word+"-")
		}
	default:
		a, err := c.Eval.Address(word)
		if err != nil {
			return q, fmt.Errorf("%w; KIND is one of %s", err, strings.Join(regions.KindNames(), ", "))
		}
		q.only = func(r *regions.Region) bool { return r.Contains(a) }
	}
	return q, nil
}

type regionView struct {
	Low      string  `json:"low"`
	High     string  `json:"high"`
	Size     uint64  `json:"size"`
	Perm     string  `json:"perm"`
	Kind     string  `json:"kind"`
	Module   string  `json:"module,omitempty"`
	Thread   int     `json:"thread,omitempty"`
	Path     string  `json:"path,omitempty"`
	Offset   *uint64 `json:"offset,omitempty"` // in the file
	Label    string  `json:"label,omitempty"`
	Resident *uint64 `json:"resident_bytes,omitempty"`
	Dirty    *uint64 `json:"dirty_bytes,omitempty"`
	Swap     *uint64 `json:"swap_bytes,omitempty"`
	Guess    bool    `json:"guess,omitempty"`

	MappedBy *string `json:"mapped_by,omitempty"` // where that is recorded
	Event    uint64  `json:"mapped_by_event,omitempty"`
	Bytes    uint64  `json:"mapped_by_bytes,omitempty"`
}

func viewRegion(r *regions.Region, threads map[int]string) regionView {
	v := regionView{Low: r.Start.String(), High: r.End.String(), Size: r.Size(), Perm: r.Perm, Kind: r.Kind.String(), Module: r.Module, Label: r.Label, Path: r.Path, Guess: r.Guess}
	v.Thread = numberOf(threads, r.TID)
	if r.Path != "" && r.Path[0] != '[' {
		v.Offset = &r.Offset
	}
	if r.Known {
		v.Resident, v.Dirty, v.Swap = &r.Resident, &r.Dirty, &r.Swap
	}
	return v
}

// numberOf is hdb's number of a thread, 0 of none.
func numberOf(threads map[int]string, tid int) int {
	n, _ := strconv.Atoi(threads[tid])
	return n
}

type layerView struct {
	Layer    string  `json:"layer"`
	Regions  int     `json:"regions"`
	Size     uint64  `json:"size"`
	Resident *uint64 `json:"resident_bytes,omitempty"`
	Dirty    *uint64 `json:"dirty_bytes,omitempty"`
	Swap     *uint64 `json:"swap_bytes,omitempty"`
	Guess    bool    `json:"guess,omitempty"`
}

type vmmapView struct {
	Regions []regionView `json:"regions,omitempty"`
	Layers  []layerView  `json:"layers,omitempty"`
	RSS     *uint64      `json:"rss_bytes,omitempty"`
	Notes   []string     `json:"notes,omitempty"`
}

func runVmmap(ctx context.Context, c *desk.Desk, in shell.Input) error {
	q, err := parseVmmap(c, in)
	if err != nil {
		return fmt.Errorf("vmmap: %w", err)
	}
	image, err := c.Session.Heap.Image()
	if err != nil {
		return fmt.Errorf("vmmap: %w", err)
	}
	space, threads := image.Space(), desk.ThreadNames(c.Session)
	v := vmmapView{Notes: space.Notes}
	var list []*regions.Region
	if !q.layers {
		list = chosenRegions(space, q)
		if len(list) == 0 {
			return errors.New("vmmap: no region matches; `vmmap` lists all")
		}
		for _, r := range list {
			v.Regions = append(v.Regions, viewRegion(r, threads))
		}
	}
	makers := makersOf(c, list)
	for i, m := range makers {
		if m != nil {
			v.Regions[i].MappedBy, v.Regions[i].Event, v.Regions[i].Bytes = &m.Site.Function, m.First, m.Bytes
		}
	}
	var sums layerSums
	if q.only == nil {
		sums = sumLayers(c, image)
		v.Layers, v.RSS = sums.views(), sums.Rss
		if sums.cut {
			v.Notes = append(slices.Clip(v.Notes), cutLayers)
		}
	}
	if ctx.Err() != nil {
		return shell.ErrInterrupted
	}
	c.Show(in, v, func(o *screen.Output) {
		if len(list) > 0 {
			regionTable(o, list, threads, makers)
		}
		if q.only == nil {
			if len(list) > 0 {
				o.Text("\n")
			}
			sums.Print(o)
		}
		for _, n := range v.Notes {
			o.Line(screen.Warning("! " + n))
		}
	})
	return nil
}

// chosenRegions are those that the question is about.
func chosenRegions(space *regions.Space, q vmmapQuestion) (list []*regions.Region) {
	for i := range space.Regions {
		r := &space.Regions[i]
		if q.only != nil && !q.only(r) || q.resident && r.Known && r.Resident == 0 && r.Swap == 0 {
			continue
		}
		list = append(list, r)
	}
	if q.resident {
		slices.SortStableFunc(list, func(a, b *regions.Region) int { return cmp.Compare(b.Resident, a.Resident) })
	}
	return list
}

// usageText is a number of bytes in memory; it may be a guess, or not known.
func usageText(o *screen.Output, n uint64, known, guess bool) screen.Span {
	switch {
	case !known:
		return screen.Plain("?")
	case n == 0:
		return screen.Plain("-")
	case guess:
		return screen.Guess("~" + o.Sizes.Short(n))
	}
	return screen.Plain(o.Sizes.Short(n))
}

// makersOf are who mapped the regions that are mappings of the program.
func makersOf(c *desk.Desk, list []*regions.Region) []*query.Maker {
	var ranges [][2]uint64
	var at []int
	for i, r := range list {
		switch r.Kind {
		case regions.Anonymous, regions.Shared, regions.File, regions.Reserved:
			ranges, at = append(ranges, [2]uint64{uint64(r.Start), uint64(r.End)}), append(at, i)
		}
	}
	makers := make([]*query.Maker, len(list))
	if len(ranges) > 0 {
		for i, m := range c.Session.Queries.Makers(ranges) {
			makers[at[i]] = m
		}
	}
	return makers
}

// mappedByText says who mapped a region, or most of it.
func mappedByText(o *screen.Output, r *regions.Region, m *query.Maker) string {
	text := screen.ShortName(m.Site.Function)
	if m.Site.Line > 0 {
		text += fmt.Sprintf(" %s:%d", screen.ShortPath(m.Site.File), m.Site.Line)
	}
	text += fmt.Sprintf(" #%d", m.First)
	if m.Bytes < r.Size() {
		text += fmt.Sprintf(" (%s of it)", o.Sizes.Short(m.Bytes))
	}
	return text
}

func regionTable(o *screen.Output, list []*regions.Region, threads map[int]string, makers []*query.Maker) {
	rows := make([][]screen.Span, 0, len(list))
	columns := []screen.Column{
		{Head: "from", Right: true}, {Head: "to", Right: true}, {Head: "size", Right: true}, {Head: "resident", Right: true},
		{Head: "dirty", Right: true}, {Head: "swap", Right: true}, {Head: "perm"}, {Head: "kind"}, {Head: "owner"},
	}
	made := slices.ContainsFunc(makers, func(m *query.Maker) bool { return m != nil })
	if made {
		columns = append(columns, screen.Column{Head: "mapped by"})
	}
	for i, r := range list {
		rows = append(rows, []screen.Span{
			screen.Addr(r.Start.String()), screen.Addr(r.End.String()), screen.Plain(o.Sizes.Short(r.Size())),
			usageText(o, r.Resident, r.Known, r.Guess), usageText(o, r.Dirty, r.Known, r.Guess), usageText(o, r.Swap, r.Known, r.Guess),
			screen.Plain(r.Perm), screen.Plain(r.Kind.String()), screen.File(regionOwner(r, threads)),
		})
		if m := makers[i]; m != nil {
			rows[i] = append(rows[i], screen.Func(mappedByText(o, r, m)))
		} else if made {
			rows[i] = append(rows[i], screen.Span{})
		}
	}
	o.Table(columns, rows)
}

// regionOwner says whose a region is, "" if its kind says all.
func regionOwner(r *regions.Region, threads map[int]string) string {
	var parts []string
	if r.TID != 0 {
		parts = append(parts, "thread "+threads[r.TID])
	}
	if r.Label != "" {
		parts = append(parts, r.Label)
	}
	file := screen.ShortPath(cmp.Or(r.Module, r.Path))
	switch {
	case file == "" || file == "[stack]" || r.Kind == regions.Heap || r.Kind == regions.Debugger:
	default:
		parts = append(parts, file)
	}
	return strings.Join(parts, ", ")
}

// layerSums are the layers of a process with their sum.
type layerSums struct {
	layers []regions.Layer
	Total  regions.Layer // of what is the process's own
	own    regions.Usage // of hdb
	known  bool          // what is resident is
	blocks bool          // those of the heap are
	cut    bool          // not all memory was looked at that may be an allocator's
	Rss    *uint64       // as the kernel tells it, nil: not known
}

// A layered has layers: a memory.Image.
type layered interface {
	Layers() (all []regions.Layer, known, cut bool)
	Space() *regions.Space
}

func sumLayers(c *desk.Desk, image layered) layerSums {
	s := addLayers(image)
	if rss, err := c.Session.Memory.RSS(); err == nil {
		s.Rss = &rss
	}
	return s
}

// addLayers is sumLayers without what the kernel counts.
func addLayers(image layered) (s layerSums) {
	s.layers, s.blocks, s.cut = image.Layers()
	s.known = true
	for i := range s.layers {
		l := &s.layers[i]
		if l.Hdb() {
			s.own = l.Usage
			continue
		}
		s.Total.Regions, s.Total.Size, s.Total.Usage = s.Total.Regions+l.Regions, s.Total.Size+l.Size, s.Total.Usage.Plus(l.Usage)
	}
	for i := range image.Space().Regions {
		s.known = s.known && image.Space().Regions[i].Known
	}
	return s
}

// shown are the layers that have something.
func (s *layerSums) shown() (list []regions.Layer) {
	for _, l := range s.layers {
		if l.Size > 0 {
			list = append(list, l)
		}
	}
	return list
}

func (s *layerSums) views() (all []layerView) {
	for _, l := range s.shown() {
		v := layerView{Layer: l.Name, Regions: l.Regions, Size: l.Size, Guess: l.Guess}
		if s.known {
			v.Resident, v.Dirty, v.Swap = new(l.Resident), new(l.Dirty), new(l.Swap)
		}
		all = append(all, v)
	}
	return all
}

// cutLayers is said of layers that a part of an allocator's memory may be missing from.
const cutLayers = "some memory of the allocator was not found: it may be counted as anonymous"

// leastMoved is how many bytes the kernel's count may differ by: it keeps it for each processor and adds that up in
// batches, and the process may have touched a page.
const leastMoved = 256 << 10

// moved reports whether what the kernel counts now differs from the sum by more than happens meanwhile, and by more than
// is printed.
func (s *layerSums) moved(o *screen.Output) bool {
	sum := s.Total.Resident + s.own.Resident
	return max(*s.Rss, sum)-min(*s.Rss, sum) > leastMoved && o.Sizes.Short(*s.Rss) != o.Sizes.Short(sum)
}

func (s *layerSums) Print(o *screen.Output) {
	var rows [][]screen.Span
	row := func(name string, l regions.Layer) {
		rows = append(rows, []screen.Span{
			screen.Plain(name), screen.Plain(units.Grouped(uint64(l.Regions))), screen.Plain(o.Sizes.Short(l.Size)),
			usageText(o, l.Resident, s.known, l.Guess), usageText(o, l.Dirty, s.known, l.Guess), usageText(o, l.Swap, s.known, l.Guess),
		})
	}
	shown := s.shown()
	for _, l := range shown {
		if !l.Hdb() {
			row(l.Name, l)
		}
	}
	row("all", s.Total)
	if n := len(shown); n > 0 && shown[n-1].Hdb() {
		row(shown[n-1].Name, shown[n-1])
	}
	o.Table([]screen.Column{{Head: "layer"}, {Head: "regions", Right: true}, {Head: "size", Right: true}, {Head: "resident", Right: true}, {Head: "dirty", Right: true}, {Head: "swap", Right: true}}, rows)
	switch {
	case !s.known:
		o.Text("(resident memory is unknown: a core file does not have it)\n")
	case s.Rss != nil && s.moved(o):
		o.Line(screen.Warning(fmt.Sprintf("! the kernel now counts %s resident: the process has run since, or another one has", o.Sizes.Long(*s.Rss))))
	}
	if !s.blocks {
		o.Text("(the heap's blocks are unknown: its memory is one layer)\n")
	}
}
