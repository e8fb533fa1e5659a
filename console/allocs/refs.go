package allocs

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/heap/graph"
	"hdb/internal/flags"
	"hdb/internal/units"
	"hdb/names"
	"hdb/session/heaps"
	"hdb/values/blocktype"
)

func refsCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "refs", Group: shell.GroupAllocs, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Needs: shell.NeedMemory, Synopsis: "[-path] ADDRESS [N | all]", Short: "show what points into a block", Repeat: shell.RepeatNone, Run: c.Does(runRefs),
			Long: "It lists the words that point into the block around the address: global variables, stack slots with frame and variable, registers, thread-local variables, and other blocks, with the member that holds the pointer. In Go programs it also lists goroutine stacks and finalizers, and says which words the collector does not see. -path shows a shortest path from a root to the block; in Go it begins at a goroutine's stack only if there is no other root nearby. At most N holders are listed, 20 by default. ADDRESS may be an expression, as for x; #EVENT is the block that an event made.\n\nBlock types are found as in `top per type`; for a block of unknown type, \"perhaps\" marks the type that a pointer to the block has. Stale words count: a dead stack slot, or padding, may hold an old address. In goroutine stacks, only words that the collector looks at count.\n\nExamples:\n  refs 0x55555578a2c8\n  refs list->head\n  refs #4711\n  refs -path entry"},
		{Name: "reach", Group: shell.GroupAllocs, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Needs: shell.NeedMemory, Synopsis: "ADDRESS", Short: "show what a block keeps alive", Repeat: shell.RepeatNone, Run: c.Does(runReach),
			Long: "A block keeps alive itself and everything reachable only through it: what would be lost if nothing pointed to the block. Pointers from lost blocks do not count; a line says how much of it is also reachable from lost blocks. ADDRESS may be an expression, as for x; #EVENT is the block that an event made.\n\nExamples:\n  reach cache->index\n  reach #4711"},
		{Name: "why", Group: shell.GroupAllocs, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Needs: shell.NeedMemory, Synopsis: "ADDRESS", Short: "show on one screen what a block is, who allocated it and who holds it", Repeat: shell.RepeatNone, Run: c.Does(runWhy),
			Long: "`history ADDRESS` lists all recorded events of its address, refs all holders. ADDRESS may be an expression, as for x; #EVENT is the block that an event made.\n\nExamples:\n  why entry\n  why #4711"},
	}
}

// A holderView is a word that points into a block.
type holderView struct {
	Kind      string          `json:"kind"`
	At        string          `json:"address,omitempty"`
	Thread    int             `json:"thread,omitempty"`
	Goroutine uint64          `json:"goroutine,omitempty"`
	Hidden    bool            `json:"hidden,omitempty"`
	Frame     *desk.FrameView `json:"frame,omitempty"`
	Name      string          `json:"name,omitempty"`
	Region    string          `json:"region,omitempty"`
	Module    string          `json:"module,omitempty"`
	Block     *heldView       `json:"in_block,omitempty"`
	Into      uint64          `json:"offset"`
	Weak      bool            `json:"weak,omitempty"`
}

// A heldView is a block and how it is held.
type heldView struct {
	Block string `json:"block"`
	Size  uint64 `json:"block_size"`
	Event uint64 `json:"event,omitempty"`
	desk.TypeView
	Reach  string `json:"reach"`
	Behind bool   `json:"behind_header,omitempty"`
}

func viewHeld(b *heaps.HeldBlock) heldView {
	return heldView{fmt.Sprintf("%#x", b.Addr), b.Size, b.Seq, desk.ViewType(b.Type), reachWord(b), b.Behind}
}

// reachWord is reachText for programs.
func reachWord(b *heaps.HeldBlock) string {
	if b.Behind {
		return b.Reach.String()
	}
	return reachText(b)
}

// reachText says how a block is held: those of Go's collector are not lost.
func reachText(b *heaps.HeldBlock) string {
	switch {
	case b.Behind:
		return b.Reach.String() + ", only behind a header"
	case !b.Go:
		return b.Reach.String()
	}
	switch b.Reach {
	case graph.Reachable:
		return "reachable"
	case graph.Possible:
		return "held by C alone"
	}
	return "garbage"
}

// holderWords are the words of the kinds.
var holderWords = [...]string{
	heaps.HeldByGlobal: "global", heaps.HeldByStack: "stack", heaps.HeldByRegister: "register", heaps.HeldByTLS: "thread-local", heaps.HeldByThread: "thread",
	heaps.HeldByMapping: "mapping", heaps.HeldByPool: "pool", heaps.HeldByBlock: "block",
	heaps.HeldByGoroutine: "goroutine", heaps.HeldByRuntime: "runtime",
}

func viewHolder(h *heaps.Holder) holderView {
	v := holderView{Kind: holderWords[h.Kind], Thread: h.Thread, Goroutine: h.Goroutine, Hidden: h.Hidden, Name: h.Name, Into: h.Into, Weak: h.Weak}
	if h.At != 0 {
		v.At = fmt.Sprintf("%#x", h.At)
	}
	if h.Frame != nil {
		f := desk.ViewFrames([]names.Frame{*h.Frame})
		v.Frame = &f[0]
	}
	if h.Region != nil {
		v.Region, v.Module = h.Region.Kind.String(), h.Region.Module
	}
	if h.Local != nil {
		v.Module = h.Local.Module
	}
	if h.Block != nil {
		b := viewHeld(h.Block)
		v.Block = &b
	}
	return v
}

// heldText is a block in a sentence.
func heldText(o *screen.Output, b *heaps.HeldBlock) string {
	text := fmt.Sprintf("block of %s at %#x", o.Sizes.Long(b.Size), b.Addr)
	switch t := b.Type; {
	case t == nil:
	case t.How.Sure():
		text += ", " + withArticle(o.Names.Short(t.String()))
	default:
		text += ", perhaps " + withArticle(o.Names.Short(t.String()))
	}
	if b.Seq != 0 {
		text += fmt.Sprintf(", #%d", b.Seq)
	}
	return text
}

// withArticle is the name of a type with a or an, by its first letter.
func withArticle(name string) string {
	if strings.HasPrefix(name, "unsigned") || name != "" && strings.ContainsRune("aeioAEIO", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

// holderText says what points to a block.
func holderText(o *screen.Output, h *heaps.Holder) string {
	text := ""
	switch h.Kind {
	case heaps.HeldByGlobal:
		text = "global " + memberName(h)
		if h.Name == "" {
			text = fmt.Sprintf("%s at %#x", h.Region.Kind, h.At)
		}
		text += "  " + filepath.Base(h.Region.Module)
	case heaps.HeldByStack:
		text = fmt.Sprintf("thread %d, ", h.Thread)
		if h.Thread == 0 {
			text = ""
		}
		switch {
		case h.Frame == nil:
			text += fmt.Sprintf("stack at %#x", h.At)
		case h.Name == "":
			text += fmt.Sprintf("frame %d %s, stack at %#x", h.Frame.Num, o.Names.Short(h.Frame.Name()), h.At)
		default:
			text += fmt.Sprintf("frame %d %s, variable %s", h.Frame.Num, o.Names.Short(h.Frame.Name()), memberName(h))
		}
	case heaps.HeldByRegister:
		text = fmt.Sprintf("thread %d, register %s", h.Thread, h.Name)
	case heaps.HeldByGoroutine:
		text = fmt.Sprintf("goroutine %d, stack at %#x", h.Goroutine, h.At)
	case heaps.HeldByRuntime:
		text = h.Name
	case heaps.HeldByTLS:
		text = localText(h)
	case heaps.HeldByThread:
		text = h.Name
		if h.Thread != 0 {
			text = fmt.Sprintf("thread %d, its %s", h.Thread, h.Name)
		}
	case heaps.HeldByPool:
		text = fmt.Sprintf("a pool's own memory at %#x", h.At)
	case heaps.HeldByBlock:
		member := fmt.Sprintf("byte %s", units.Grouped(h.Field))
		if h.Name != "" {
			member = "member " + memberName(h)
		}
		text = member + " of " + heldText(o, h.Block)
		if h.Block.Reach != graph.Reachable {
			text += ", itself " + reachText(h.Block)
		}
	default:
		text = fmt.Sprintf("%s memory at %#x", h.Region.Kind, h.At)
		if h.Region.Path != "" {
			text += "  " + h.Region.Path
		} else if h.Region.Label != "" {
			text += "  " + h.Region.Label
		}
	}
	if h.Into != 0 {
		text += fmt.Sprintf("  (to byte %s)", units.Grouped(h.Into))
	}
	if h.Hidden {
		text += "  (Go's collector does not see it)"
	}
	return text
}

// hasReserved reports whether an expression goes through members of libraries.
func hasReserved(expr string) bool {
	members := strings.ReplaceAll(expr, "->", ".")
	return blocktype.Public(members) != members
}

// memberName is the variable or the member of a block that points to another.
func memberName(h *heaps.Holder) string {
	name := strings.TrimPrefix(blocktype.Public(h.Name), ".")
	if h.Weak {
		name += " (weak)"
	}
	return name
}

// localText is a word in thread-local storage.
func localText(h *heaps.Holder) string {
	text := "thread-local storage"
	switch {
	case h.Name != "":
		text = "thread-local " + memberName(h)
	case h.Local != nil:
		text = fmt.Sprintf("byte %s of the thread-local storage", units.Grouped(h.Local.Offset))
	}
	if h.Thread != 0 {
		text += fmt.Sprintf(" of thread %d", h.Thread)
	}
	if h.Local == nil {
		return text + fmt.Sprintf(" at %#x", h.At)
	}
	return text + "  " + filepath.Base(h.Local.Module)
}

// refsLine reads `[-path] ADDRESS [N | all]`.
func refsLine(in shell.Input) (expr string, limit int, path bool, err error) {
	text, path := flags.Cut(strings.TrimSpace(in.Raw), "path")
	limit = 20
	if i := strings.LastIndexByte(text, ' '); i > 0 {
		n, err := strconv.Atoi(text[i+1:])
		switch {
		case text[i+1:] == "all":
			text, limit = strings.TrimSpace(text[:i]), int(^uint(0)>>1)
		case err == nil && n > 0 && strings.IndexByte("+-*/%&|^<>=,", text[i-1]) < 0:
			text, limit = strings.TrimSpace(text[:i]), n
		}
	}
	if text == "" {
		return "", 0, path, fmt.Errorf("%s: an address must follow", in.Name)
	}
	return text, limit, path, nil
}

func runRefs(ctx context.Context, c *desk.Desk, in shell.Input) error {
	text, limit, path, err := refsLine(in)
	if err != nil {
		return err
	}
	at, err := c.Eval.AddressOf(in, text)
	if err != nil {
		return err
	}
	if path {
		a, err := c.Session.Heap.Path(ctx, at)
		if err != nil {
			return fmt.Errorf("refs: %w", err)
		}
		showPath(c, in, a)
		return nil
	}
	a, err := c.Session.Heap.Refs(ctx, at, limit)
	if err != nil {
		return fmt.Errorf("refs: %w", err)
	}
	showRefs(c, in, text, a)
	return nil
}

func showRefs(c *desk.Desk, in shell.Input, text string, a *heaps.RefsAnswer) {
	views := make([]holderView, 0, len(a.Holders))
	for i := range a.Holders {
		views = append(views, viewHolder(&a.Holders[i]))
	}
	c.AnswerOfMemory(in, struct {
		heldView
		Total   int          `json:"total"`
		Holders []holderView `json:"holders"`
	}{viewHeld(&a.Block), a.Total, views}, func(o *screen.Output) {
		printHeld(o, a.Addr, &a.Block)
		printHolders(o, a.Holders)
		if a.Total == 0 {
			o.Printf("nothing points to it\n")
		}
		for i := range a.Sharers {
			o.Printf("it has a slot with the %s, and lives as long\n", heldText(o, &a.Sharers[i]))
		}
		if len(a.Holders) < a.Total {
			o.Printf("%d of %s; `refs %s all` lists all\n", len(a.Holders), units.Count(a.Total, "holder"), text)
		}
	})
}

func printHolders(o *screen.Output, holders []heaps.Holder) {
	for i := range holders {
		o.Printf("  %s\n", holderText(o, &holders[i]))
	}
}

// printHeld says in which block an address lies, and how that is held.
func printHeld(o *screen.Output, at uint64, b *heaps.HeldBlock) {
	text := heldText(o, b)
	if at != b.Addr {
		text = fmt.Sprintf("%#x is byte %s of the %s", at, units.Grouped(at-b.Addr), text)
	}
	o.Printf("%s: %s\n", text, reachText(b))
}

func showPath(c *desk.Desk, in shell.Input, a *heaps.PathAnswer) {
	type step struct {
		Holder holderView `json:"holder"`
		To     heldView   `json:"to_block"`
	}
	steps := make([]step, 0, len(a.Steps))
	for i := range a.Steps {
		steps = append(steps, step{viewHolder(&a.Steps[i].Holder), viewHeld(&a.Steps[i].To)})
	}
	c.AnswerOfMemory(in, struct {
		heldView
		Expression string `json:"expression,omitempty"`
		In         string `json:"held_in,omitempty"`
		Steps      []step `json:"steps"`
	}{viewHeld(&a.Block), a.Expression, a.In, steps}, func(o *screen.Output) {
		printHeld(o, a.Addr, &a.Block)
		printPath(o, a)
	})
}

// pathBegin and pathEnd are how many steps of a long way are printed, of its beginning and of its end.
const (
	pathBegin = 12
	pathEnd   = 8
)

func printPath(o *screen.Output, a *heaps.PathAnswer) {
	if len(a.Steps) == 0 {
		o.Printf("no root leads to it\n")
		return
	}
	long := len(a.Steps) > pathBegin+pathEnd+1
	for i := range a.Steps {
		if long && i >= pathBegin && i < len(a.Steps)-pathEnd {
			if i == pathBegin {
				o.Line(screen.Guess(fmt.Sprintf("    (%s more; --json has all)", units.Count(len(a.Steps)-pathBegin-pathEnd, "step"))))
			}
			continue
		}
		s := &a.Steps[i]
		if i == 0 {
			o.Printf("  %s\n", holderText(o, &s.Holder))
		} else {
			member := fmt.Sprintf("byte %s", units.Grouped(s.Holder.Field))
			switch {
			case s.Holder.Kind == heaps.HeldByTLS:
				member = localText(&s.Holder)
			case s.Holder.Name != "":
				member = memberName(&s.Holder)
			}
			if s.Holder.Into != 0 {
				member += fmt.Sprintf(" (to byte %s)", units.Grouped(s.Holder.Into))
			}
			o.Printf("    %s\n", member)
		}
		o.Printf("  -> %s\n", heldText(o, &s.To))
	}
	where := ""
	for i := range a.Steps {
		if h := &a.Steps[i].Holder; h.Kind == heaps.HeldByTLS && h.Thread != 0 {
			where = fmt.Sprintf(" in thread %d", h.Thread)
		}
	}
	switch {
	case len(a.Steps) == 1:
	case a.Expression != "" && !long && !hasReserved(a.Expression):
		o.Printf("it is %s%s\n", a.Expression, where)
	case a.In != "" && !long:
		o.Printf("it is in %s%s\n", a.In, where)
	}
}

func runReach(ctx context.Context, c *desk.Desk, in shell.Input) error {
	at, err := c.Eval.AddressOf(in, strings.TrimSpace(in.Raw))
	if err != nil {
		return err
	}
	a, err := c.Session.Heap.Reach(ctx, at)
	if err != nil {
		return fmt.Errorf("reach: %w", err)
	}
	c.AnswerOfMemory(in, struct {
		heldView
		retainedView
	}{viewHeld(&a.Block), viewRetained(a.Retained, a.LostToo)}, func(o *screen.Output) {
		printHeld(o, a.Addr, &a.Block)
		printRetained(o, a.Retained, a.LostToo)
	})
	return nil
}

// A retainedView is what a block keeps alive.
type retainedView struct {
	Bytes      uint64 `json:"retained_bytes"`
	Blocks     int    `json:"retained_blocks"`
	LostBytes  uint64 `json:"retained_lost_too_bytes,omitempty"`
	LostBlocks int    `json:"retained_lost_too_blocks,omitempty"`
}

func viewRetained(kept, lostToo graph.Sum) retainedView {
	return retainedView{kept.Bytes, kept.Blocks, lostToo.Bytes, lostToo.Blocks}
}

func printRetained(o *screen.Output, kept, lostToo graph.Sum) {
	o.Printf("it keeps %s alive, itself included\n", units.Blocks(o.Sizes, kept.Bytes, kept.Blocks))
	if lostToo.Blocks > 0 {
		o.Printf("lost blocks lead to %s of that in %s, too\n", o.Sizes.Long(lostToo.Bytes), units.Count(lostToo.Blocks, "block"))
	}
}

// whyHolders is how many holders why lists.
const whyHolders = 5

func runWhy(ctx context.Context, c *desk.Desk, in shell.Input) error {
	text := strings.TrimSpace(in.Raw)
	at, err := c.Eval.AddressOf(in, text)
	if err != nil {
		return err
	}
	w, err := c.Session.Heap.Why(ctx, at, whyHolders)
	if err != nil {
		return fmt.Errorf("why: %w", err)
	}
	showWhy(c, in, text, w)
	return nil
}

func showWhy(c *desk.Desk, in shell.Input, text string, w *heaps.WhyAnswer) {
	type whyView struct {
		heldView
		Address string           `json:"address"`
		Content string           `json:"content,omitempty"`
		Whence  *whenceView      `json:"whence,omitempty"`
		Events  []desk.EventView `json:"events,omitempty"`
		Total   int              `json:"total"`
		Holders []holderView     `json:"holders"`
		Path    []holderView     `json:"steps"`
		retainedView
	}
	v := whyView{heldView: viewHeld(&w.Refs.Block), Address: fmt.Sprintf("%#x", w.Refs.Addr), Content: w.Content, Total: w.Refs.Total,
		Holders: []holderView{}, Path: []holderView{}, retainedView: viewRetained(w.Retained, w.LostToo)}
	if w.Whence != nil {
		x := viewWhence(w.Whence)
		v.Whence = &x
	}
	for _, e := range w.Chain {
		v.Events = append(v.Events, desk.ViewEvent(e))
	}
	for i := range w.Refs.Holders {
		v.Holders = append(v.Holders, viewHolder(&w.Refs.Holders[i]))
	}
	for i := range w.Path.Steps {
		v.Path = append(v.Path, viewHolder(&w.Path.Steps[i].Holder))
	}
	c.AnswerOfMemory(in, v, func(o *screen.Output) {
		printHeld(o, w.Refs.Addr, &w.Refs.Block)
		if obj, typ, ok := c.Session.Objects.Within(w.Refs.Block.Addr); ok {
			o.Printf("in Python: perhaps %s at %v, see `py refs %v`\n", withArticle(typ), obj, obj)
		}
		if w.Content != "" {
			o.Printf("content: %s\n", w.Content)
		}
		if w.Retained.Blocks > 1 {
			printRetained(o, w.Retained, w.LostToo)
		}
		switch e := w.Whence; {
		case e == nil:
			o.Line(screen.Guess("(no stack: not in a recording)"))
		default:
			o.Printf("#%d %s   thread %s   %s, %s ago\n", e.Event.Seq, desk.Called(o)(e.Event), desk.Runner(e.Event, desk.ThreadNames(c.Session)), units.Time(e.Event.Time), units.Time(e.Age))
			printUserFrames(c, o, names.Stack{Frames: e.Frames}, fmt.Sprintf("bt #%d", e.Event.Seq))
			for _, before := range w.Chain {
				o.Printf("before: #%d %s   %s\n", before.Seq, desk.Called(o)(before), units.Time(before.Time))
			}
		}
		o.Printf("held by %s:\n", units.Count(w.Refs.Total, "word"))
		printHolders(o, w.Refs.Holders)
		if len(w.Refs.Holders) < w.Refs.Total {
			o.Printf("%d of %d; `refs %s all` lists all\n", len(w.Refs.Holders), w.Refs.Total, text)
		}
		if len(w.Path.Steps) > 1 || w.Refs.Total == 0 {
			printPath(o, w.Path)
		}
	})
}
