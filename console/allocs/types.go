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
	"hdb/heap"
	"hdb/internal/cond"
	"hdb/internal/flags"
	"hdb/internal/units"
	"hdb/query"
	"hdb/session/heaps"
	"hdb/values"
	"hdb/values/blocktype"
)

// topTypes shows what is live by type.
func topTypes(ctx context.Context, c *desk.Desk, in shell.Input, by heap.Measure, chosen bool, limit int) error {
	if chosen && by != heap.ByLive && by != heap.ByBlocks {
		return fmt.Errorf("top: %s per type: only the types of live blocks are known: use by live or by blocks", by)
	}
	if !chosen {
		by = heap.ByLive
	}
	rows, err := c.Session.Queries.TopTypes(ctx, by)
	walked, slots := err != nil && c.Session.Heap.Unrecorded(err), false
	if walked {
		rows, slots, err = c.Session.Heap.TopTypes(ctx, by)
	}
	if ctx.Err() != nil {
		return shell.ErrInterrupted
	}
	if err != nil {
		return err
	}
	top := topAnswer{rows: rows[:min(limit, len(rows))], by: by, per: query.PerType, total: len(rows)}
	if walked {
		top.note = "found in the heap itself: nothing was recorded"
	}
	if slots {
		top.note += "; " + ofSlots
	}
	showTop(c, in, top)
	return nil
}

// BlockFinder is what find does with -live or -type, and the rest of its line; nil without.
func BlockFinder(raw string) (run func(context.Context, *desk.Desk, shell.Input) error, rest string) {
	if rest, ok := flags.Cut(raw, "live"); ok {
		return runFindLive, rest
	}
	if rest, ok := flags.Cut(raw, "type"); ok {
		return runFindType, rest
	}
	return nil, ""
}

// usualBlocks is how many blocks find lists without MAX.
const usualBlocks = 20

// A blockHitView is a block that find has found, or a place in it.
type blockHitView struct {
	Address  string  `json:"address,omitempty"`
	Block    string  `json:"block"`
	Offset   *uint64 `json:"offset,omitempty"`
	Size     uint64  `json:"size"`
	Event    uint64  `json:"event,omitempty"`
	Function string  `json:"function,omitempty"`
	Field    string  `json:"field,omitempty"`
	desk.TypeView
}

func viewBlock(c *desk.Desk, b *heaps.TypedBlock) blockHitView {
	v := blockHitView{Block: fmt.Sprintf("%#x", b.Addr), Size: b.Size, Event: b.Seq, TypeView: desk.ViewType(b.Type)}
	if b.Event != nil {
		v.Function = c.Session.Queries.OwnerOf(b.Event)
	}
	return v
}

func runFindType(ctx context.Context, c *desk.Desk, in shell.Input) error {
	spec, name := desk.CutFormat(in.Raw)
	most, _, err := FindSpec(spec)
	if err != nil {
		return err
	}
	name, n := countAfter(name)
	if n > 0 {
		most = n
	}
	if name = strings.Trim(strings.TrimSpace(name), `"`); name == "" {
		return errors.New("find: -type: the name of a type must follow, as top per type shows it")
	}
	if err := cond.CheckType(name); err != nil {
		return fmt.Errorf("find: %w", err)
	}
	of, err := c.Session.BlockTypes.OfType(ctx, name, FoundAtMost(most, usualBlocks))
	if ctx.Err() != nil {
		return shell.ErrInterrupted
	}
	if err != nil {
		return fmt.Errorf("find: %w", err)
	}
	views := []blockHitView{}
	for i := range of.Found {
		views = append(views, viewBlock(c, &of.Found[i]))
	}
	c.Answer(in, struct {
		Found  []blockHitView `json:"found"`
		Blocks int            `json:"blocks"`
		Bytes  uint64         `json:"live_bytes"`
	}{views, of.All.Blocks, of.All.Bytes}, func(o *screen.Output) {
		if of.All.Blocks == 0 {
			o.Printf("no live block is known to be of the type %s; top per type lists those that are known\n", name)
			printUnknown(o, of.Unknown)
			return
		}
		blockTable(c, o, views, false)
		more := ""
		if len(views) < of.All.Blocks {
			more = fmt.Sprintf("; `find -type %s all` lists all", name)
		}
		o.Printf("%s%s\n", units.Blocks(o.Sizes, of.All.Bytes, of.All.Blocks), more)
		printUnknown(o, of.Unknown)
		if of.Go {
			o.Printf("%s\n", ofSlots)
		}
	})
	return nil
}

// countAfter cuts the number of rows off that may follow the name of a type: all means as many as can be listed. No name
// of a type ends with a number of its own.
func countAfter(name string) (before string, n int) {
	before, last, ok := desk.CutLast(strings.TrimSpace(name), ' ')
	if !ok {
		return name, 0
	}
	if count, isCount := desk.CountOf(last); isCount && count > 0 {
		return before, int(min(count, desk.MaxFound))
	}
	if last == "all" {
		return before, desk.MaxFound
	}
	return name, 0
}

// FindSpec reads /SIZE MAX; 0 where it does not be there.
func FindSpec(spec string) (most, size int, err error) {
	for _, r := range strings.TrimPrefix(spec, "/") {
		switch n, ok := desk.SizeLetters[r]; {
		case ok:
			size = n
		case r >= '0' && r <= '9' && most < 1e8:
			most = 10*most + int(r-'0')
		default:
			return 0, 0, fmt.Errorf("find: %q: b, h, w or g and a number expected", spec)
		}
	}
	return most, size, nil
}

// FoundAtMost is how many places are looked for: as many as are asked for, within bounds.
func FoundAtMost(asked, usual int) int { return min(cmp.Or(asked, usual), desk.MaxFound) }

func runFindLive(ctx context.Context, c *desk.Desk, in shell.Input) error {
	spec, expr := desk.CutFormat(in.Raw)
	most, size, err := FindSpec(spec)
	if err != nil {
		return err
	}
	if strings.TrimSpace(expr) == "" {
		return errors.New("find: -live: the values to search for must follow")
	}
	s, err := c.Session.Patterns.Search("0, +0x7fffffff, "+expr, size)
	if err != nil {
		return fmt.Errorf("find: %w", err)
	}
	pattern := s.Pattern
	if text := strings.TrimSpace(expr); strings.HasPrefix(text, `"`) && strings.HasSuffix(text, `"`) && len(pattern) > 1 && pattern[len(pattern)-1] == 0 {
		pattern = pattern[:len(pattern)-1]
	}
	hits, more, err := c.Session.BlockTypes.SearchBlocks(ctx, pattern, FoundAtMost(most, usualBlocks))
	if ctx.Err() != nil {
		return shell.ErrInterrupted
	}
	if err != nil {
		return fmt.Errorf("find: %w", err)
	}
	views := []blockHitView{}
	for i := range hits {
		v := viewBlock(c, &hits[i].Block)
		v.Address, v.Offset, v.Field = fmt.Sprintf("%#x", hits[i].Block.Addr+hits[i].Off), &hits[i].Off, hits[i].Field
		views = append(views, v)
	}
	c.Answer(in, struct {
		Found []blockHitView `json:"found"`
	}{views}, func(o *screen.Output) {
		if len(views) == 0 {
			o.Printf("no live block has it\n")
			return
		}
		blockTable(c, o, views, true)
		if more {
			o.Printf("the first %d; `find -live /%d %s` lists more\n", len(views), 10*len(views), expr)
		}
	})
	return nil
}

// blockTable lists blocks, or places in them, with who allocated them if that is recorded of one.
func blockTable(c *desk.Desk, o *screen.Output, views []blockHitView, places bool) {
	var table [][]screen.Span
	known := slices.ContainsFunc(views, func(v blockHitView) bool { return v.Event != 0 || v.Function != "" })
	for i := range views {
		v := &views[i]
		event := ""
		if v.Event != 0 {
			event = fmt.Sprintf("#%d", v.Event)
		}
		typ := o.Names.Short(v.Type)
		switch v.How {
		case blocktype.Guess.String():
			typ += "?"
		case blocktype.Pointer.String():
			typ = "perhaps " + typ
		}
		row := []screen.Span{screen.Plain(v.Block), screen.Plain(o.Sizes.Short(v.Size)), screen.Plain(typ)}
		if places {
			row = append([]screen.Span{screen.Plain(v.Address)}, row...)
			row = append(row, screen.Plain(strconv.FormatUint(*v.Offset, 10)+" "+v.Field))
		}
		if known {
			row = append(row, screen.Head(event), screen.Func(o.Names.Short(v.Function)))
		}
		table = append(table, row)
	}
	columns := []screen.Column{{Head: "block"}, {Head: "size", Right: true}, {Head: "type"}}
	if places {
		columns = append([]screen.Column{{Head: "address"}}, columns...)
		columns = append(columns, screen.Column{Head: "offset"})
	}
	if known {
		columns = append(columns, screen.Column{Head: "event", Right: true}, screen.Column{Head: "function"})
	}
	o.Table(columns, table)
}

// PrintBlock prints the block around an address as of its type.
func PrintBlock(c *desk.Desk, in shell.Input, expr string, o values.Options) error {
	at, err := c.Eval.AddressOf(in, expr)
	if err != nil {
		return err
	}
	n, text, typ, err := c.Session.BlockTypes.Print(at, o)
	if err != nil {
		return fmt.Errorf("print: %w", err)
	}
	v := desk.ViewType(typ)
	c.Show(in, struct {
		desk.ValueView
		How string `json:"type_known"`
	}{desk.ValueView{Num: n, Type: v.Type, Expr: expr, Value: text}, v.How}, func(out *screen.Output) {
		out.Text(fmt.Sprintf("$%d = (%s) %s\n", n, typ, text))
	})
	return nil
}
