package allocs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/units"
	"hdb/names"
	"hdb/python/pymalloc"
	"hdb/session/cpython"
)

func pythonBlockCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "block", Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "ADDRESS", Short: "show what an address is to CPython's allocators", Needs: shell.NeedObjects, Repeat: shell.RepeatNone, Run: c.Does(runPythonBlock),
			Long: "It shows the block, whether it is in use, its pool and arena; with PYTHONMALLOC=debug its requested size, its domain, and whether bytes beyond it were overwritten; and the recorded event that allocated it.\n\nExample:\n  py block 0x7ffff7a01c30"},
		{Name: "check", Short: "check CPython's blocks for writes beyond their bounds", Needs: shell.NeedObjects, Repeat: shell.RepeatNone, Run: c.Does(runPythonCheck),
			Long: "With PYTHONMALLOC=debug or -X dev it checks all blocks in pools, and the larger blocks that `record start --python-allocators` has recorded. Otherwise it checks only the lists of free blocks, which a write to a freed block damages.\n\nExample:\n  py check"},
	}
}

type pythonBlockView struct {
	Address string                `json:"address"`
	Version string                `json:"version"`
	Arena   string                `json:"arena,omitempty"`
	Pool    string                `json:"pool,omitempty"`
	Class   *int                  `json:"size_class,omitempty"`
	Block   string                `json:"block,omitempty"`
	Size    int                   `json:"block_size,omitempty"`
	Used    bool                  `json:"used,omitempty"`
	Why     string                `json:"reason,omitempty"` // what is wrong with the pool
	Debug   *desk.PythonDebugView `json:"debug_hooks,omitempty"`
	Whence  *whenceView           `json:"recorded,omitempty"`
}

func runPythonBlock(_ context.Context, c *desk.Desk, in shell.Input) error {
	if strings.TrimSpace(in.Raw) == "" {
		return errors.New("py block: an address must follow")
	}
	at, err := c.Eval.AddressOf(in, strings.TrimSpace(in.Raw))
	if err != nil {
		return err
	}
	w, _ := c.Session.Queries.Whence(at) // there may be no recording
	start := uint64(0)
	if w != nil {
		start = w.Start
	}
	b, err := c.Session.PythonHeaps.Block(at, start)
	if err != nil {
		return fmt.Errorf("py block: %w", err)
	}
	v := viewPythonBlock(at, b)
	if w != nil && (w.Event != nil || w.Last != nil) {
		v.Whence = new(viewWhence(w))
	}
	c.Show(in, v, func(o *screen.Output) {
		printPythonBlock(o, at, b)
		if w != nil && w.Event != nil {
			o.Printf("#%d %s   thread %s   %s, %s ago\n", w.Event.Seq, desk.Called(o)(w.Event), desk.ThreadNames(c.Session)[int(w.Event.TID)], units.Time(w.Event.Time), units.Time(w.Age))
			printUserFrames(c, o, names.Stack{Frames: w.Frames}, fmt.Sprintf("bt #%d", w.Event.Seq))
		} else if w != nil && w.Last != nil {
			o.Printf("the last recorded event about it: #%d %s; `bt #%d` shows its stack\n", w.Last.Seq, desk.Called(o)(w.Last), w.Last.Seq)
		}
	})
	return nil
}

func viewPythonBlock(at uint64, b cpython.Block) pythonBlockView {
	v := pythonBlockView{Address: fmt.Sprintf("%#x", at), Version: b.Runtime.Version}
	if b.InArena {
		v.Arena = fmt.Sprintf("%#x", uint64(b.Place.Arena.At))
	}
	if p := b.Place.Pool; p != nil {
		v.Pool = fmt.Sprintf("%#x", uint64(p.At))
		if p.Used > 0 && p.Class >= 0 {
			v.Class, v.Size = &p.Class, p.Size
		}
	}
	if b.Place.Block != 0 {
		v.Block, v.Used = fmt.Sprintf("%#x", uint64(b.Place.Block)), b.Place.InUse
	}
	if b.Place.Err != nil {
		v.Why = b.Place.Err.Error()
	}
	if b.Debug != nil {
		v.Debug = new(desk.ViewPythonDebug(*b.Debug))
	}
	return v
}

func printPythonBlock(o *screen.Output, at uint64, b cpython.Block) {
	if b.InArena {
		o.Line(screen.Plain(poolText(at, b.Place)))
	}
	if b.Place.Err != nil {
		o.Line(screen.Guess("! " + b.Place.Err.Error()))
	}
	x := b.Debug
	if x == nil {
		return
	}
	text := fmt.Sprintf("debug hooks: %s at %#x", desk.AskedText(*x), uint64(x.At))
	if x.HasSerial && !x.Freed && !desk.HeaderLost(*x) {
		text += fmt.Sprintf(", request number %s", units.Grouped(x.Serial))
	}
	if x.Read > 0 && x.Written == 0 {
		text += ", never written to"
	}
	o.Line(screen.Plain(text))
	for _, d := range x.Damages {
		o.Line(screen.Guess("! " + desk.DamageText(d)))
	}
	if len(x.Damages) == 0 && !x.Freed && !x.Moving {
		o.Line(screen.Plain("nothing was written beyond it"))
	}
}

// poolText says where in an arena an address lies.
func poolText(at uint64, w pymalloc.Place) string {
	where := fmt.Sprintf("arena %#x", uint64(w.Arena.At))
	if w.Pool == nil {
		return fmt.Sprintf("%#x is in %s, where no pool was ever in use", at, where)
	}
	where = fmt.Sprintf("pool %#x of %s", uint64(w.Pool.At), where)
	if w.Pool.Used > 0 && w.Pool.Class >= 0 {
		where = fmt.Sprintf("class %d, %s", w.Pool.Class, where)
	}
	switch {
	case w.InHeader:
		return fmt.Sprintf("%#x is in the header of a pool: %s", at, where)
	case w.Block == 0 && w.Pool.Free():
		return fmt.Sprintf("%#x is in a pool without blocks in use: %s", at, where)
	case w.Block == 0:
		return fmt.Sprintf("%#x is not in a block: %s", at, where)
	}
	state := "in use"
	switch {
	case w.InUse:
	case w.Cut:
		state = "free"
	default:
		state = "never used"
	}
	return fmt.Sprintf("%#x is byte %d of a block of %d bytes at %#x, %s: %s", at, at-uint64(w.Block), w.Pool.Size, uint64(w.Block), state, where)
}

func runPythonCheck(ctx context.Context, c *desk.Desk, in shell.Input) error {
	k, err := c.Session.PythonHeaps.Check(ctx, c.Session.Queries)
	if err != nil {
		return fmt.Errorf("py check: %w", err)
	}
	if k.Unread != nil {
		c.Say("(%v)", k.Unread)
	}
	views := []desk.PythonDebugView{}
	for _, d := range k.Damaged {
		v := desk.ViewPythonDebug(d.DebugBlock)
		if d.Event != nil {
			v.Event, v.Frames = new(desk.ViewEvent(d.Event)), desk.ViewFrames(d.Frames)
		}
		views = append(views, v)
	}
	var pools []string
	if k.Pools != nil {
		pools = strings.Split(k.Pools.Error(), "\n")
	}
	c.Show(in, struct {
		Hooks    bool                   `json:"hooks"` // PYTHONMALLOC=debug, or -X dev
		Arenas   int                    `json:"checked_blocks"`
		Recorded int                    `json:"checked_recorded_blocks"`
		Blocks   []desk.PythonDebugView `json:"damaged_blocks"`
		More     int                    `json:"more,omitempty"`
		Pools    []string               `json:"damaged,omitempty"`
	}{k.Hooks, k.Arenas, k.Recorded, views, k.More, pools}, func(o *screen.Output) { printPythonCheck(o, k, pools) })
	return nil
}

func printPythonCheck(o *screen.Output, k cpython.Check, pools []string) {
	for _, d := range k.Damaged {
		o.Line(screen.Plain(fmt.Sprintf("%#x, %s", uint64(d.At), desk.AskedText(d.DebugBlock))))
		for _, x := range d.Damages {
			o.Line(screen.Guess("    " + desk.DamageText(x)))
		}
		if d.Event != nil {
			line := []screen.Span{screen.Plain(fmt.Sprintf("    #%d %s", d.Event.Seq, desk.Called(o)(d.Event)))}
			if n := len(d.Frames); n > 0 {
				f := d.Frames[n-1]
				line = append(append(append(line, screen.Plain(" in ")), desk.FrameName(o, f)...), screen.Plain("  "), desk.FramePlace(f))
			}
			o.Line(line...)
		}
	}
	if k.More > 0 {
		o.Line(screen.Guess("(" + units.Count(k.More, "more block") + ")"))
	}
	printDamaged(o, pools)
	if !k.Hooks {
		if len(pools) == 0 && k.Unread == nil {
			o.Line(screen.Plain("the lists of free blocks hold together"))
		}
		if k.Unread == nil {
			o.Line(screen.Guess("(" + cpython.ErrNoDebugHooks.Error() + ")"))
		}
		return
	}
	text := fmt.Sprintf("%s of arenas looked at", units.Count(k.Arenas, "block"))
	if k.Known {
		text += fmt.Sprintf(", and %s recorded larger ones", units.Grouped(k.Recorded))
	}
	o.Line(screen.Plain(fmt.Sprintf("%s: %s damaged", text, units.Count(len(k.Damaged)+k.More, "block"))))
	if !k.Known {
		o.Line(screen.Guess("(blocks outside arenas are unknown without `record start --python-allocators`)"))
	}
}
