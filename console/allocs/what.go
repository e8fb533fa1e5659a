package allocs

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"hdb/capture"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/heap/glibc"
	"hdb/heap/regions"
	"hdb/internal/addr"
	"hdb/internal/units"
	"hdb/recording"
	"hdb/session/heaps"
)

func whatCommand(c *desk.Desk) *shell.Command {
	return &shell.Command{
		Name: "what", Group: shell.GroupData, Raw: true, Args: []shell.ArgKind{shell.ArgExpression}, Synopsis: "ADDRESS", Short: "say what an address is: a block, a variable, a stack, code, a mapping", Needs: shell.NeedProgram, Repeat: shell.RepeatNone, Run: c.Does(runWhat),
		Long: "It prints the most precise answer: the heap block, live or freed, with the recorded stacks of its allocation and its free; the thread, frame and variable of a stack; the global or thread-local variable; the function and line of code; the guard of a stack; the allocator's own memory; the mapping with its file; or, if nothing is mapped there, what is nearest. With a capture it knows the code, the variables and the recorded blocks.\n\nADDRESS may be an expression, as for x: a pointer is the address that it holds, &NAME the address of a variable, #EVENT the block that an event made.\n\nExamples:\n  what 0x7ffff7a02010\n  what list->head\n  what &table\n  what #4711\n  what $rsp",
	}
}

func runWhat(_ context.Context, c *desk.Desk, in shell.Input) error {
	a, err := c.Eval.AddressOf(in, strings.TrimSpace(in.Raw))
	if err != nil {
		return err
	}
	w, err := c.Session.Heap.What(addr.Run(a))
	if err != nil {
		return fmt.Errorf("what: %w", err)
	}
	show := c.Show
	if w.Whence != nil {
		show = c.Answer
	}
	show(in, viewWhat(c, w), func(o *screen.Output) { printWhat(c, o, w) })
	return nil
}

type whatLocalView struct {
	Thread int    `json:"thread,omitempty"`
	Module string `json:"module"`
	Name   string `json:"name,omitempty"`
	Offset uint64 `json:"offset"`
}

type whatStackView struct {
	Thread   int             `json:"thread"`
	Frame    *desk.FrameView `json:"frame,omitempty"`
	Variable string          `json:"variable,omitempty"`
	Offset   uint64          `json:"offset"`
	Below    uint64          `json:"below_bytes,omitempty"`
}

// A whatChunkView is a chunk of glibc's malloc, or a region of jemalloc.
type whatChunkView struct {
	Address string `json:"address"`
	Size    uint64 `json:"size"`
	State   string `json:"chunk_state"`
}

type whatView struct {
	Address string         `json:"address"`
	Region  *regionView    `json:"region,omitempty"`
	Below   *regionView    `json:"region_below,omitempty"`
	Above   *regionView    `json:"region_above,omitempty"`
	Symbol  string         `json:"symbol,omitempty"`
	Linkage string         `json:"linkage,omitempty"`
	Within  *uint64        `json:"symbol_offset,omitempty"`
	Module  string         `json:"module,omitempty"`
	File    string         `json:"file,omitempty"`
	Line    int            `json:"line,omitempty"`
	Local   *whatLocalView `json:"thread_local,omitempty"`
	Stack   *whatStackView `json:"stack_place,omitempty"`
	Block   string         `json:"block,omitempty"`
	Size    uint64         `json:"size,omitempty"`   // of the block
	Offset  *uint64        `json:"offset,omitempty"` // in the block
	Chunk   *whatChunkView `json:"chunk,omitempty"`
	Whence  *whenceView    `json:"recorded,omitempty"`
}

func viewWhat(c *desk.Desk, w *heaps.What) whatView {
	threads := desk.ThreadNames(c.Session)
	v := whatView{Address: w.Addr.String()}
	region := func(r *regions.Region) *regionView {
		if r == nil {
			return nil
		}
		return new(viewRegion(r, threads))
	}
	v.Region, v.Below, v.Above = region(w.Region), region(w.Below), region(w.Above)
	if s := w.Symbol; s != nil {
		v.Symbol, v.Linkage, v.Within, v.Module, v.File, v.Line = s.Name, s.Linkage, &s.Offset, s.Module, w.Place.File, w.Place.Line
	}
	if l := w.Local; l != nil {
		v.Local = &whatLocalView{numberOf(threads, l.TID), l.Module, l.Name, l.Offset}
	}
	if f := w.Frame; f != nil {
		v.Stack = &whatStackView{Thread: f.Thread, Variable: f.Variable, Offset: f.Offset, Below: f.Below}
		if f.Frame.CFA != 0 {
			v.Stack.Frame = new(desk.ViewFrame(f.Frame))
		}
	}
	if b := w.Block; b != nil {
		v.Block, v.Size, v.Offset = addr.Run(b.Addr).String(), b.Size, new(uint64(w.Addr)-b.Addr)
	}
	if k := w.Chunk; k != nil {
		v.Chunk = &whatChunkView{k.Addr.String(), k.Size, k.State.String()}
	}
	if r := w.Slot; r != nil {
		v.Chunk = &whatChunkView{r.Addr.String(), r.Size, regionState(&r.Region)}
	}
	if w.Whence != nil {
		v.Whence = new(viewWhence(w.Whence))
	}
	return v
}

// A whatText words what is known of an address.
type whatText struct {
	c       *desk.Desk
	o       *screen.Output
	w       *heaps.What
	threads map[int]string
}

func printWhat(c *desk.Desk, o *screen.Output, w *heaps.What) {
	t := whatText{c, o, w, desk.ThreadNames(c.Session)}
	o.Line(screen.Addr(w.Addr.String()), screen.Plain(" is "+t.headline()))
	switch {
	case w.Region != nil:
		o.Line(screen.Guess(t.region(w.Region)))
	case w.Unmapped:
		if w.Below != nil {
			o.Printf("below: %s, which ends %s before\n", t.region(w.Below), o.Sizes.Long(uint64(w.Addr-w.Below.End)))
		}
		if w.Above != nil {
			o.Printf("above: %s, %s behind\n", t.region(w.Above), o.Sizes.Long(uint64(w.Above.Start-w.Addr)))
		}
	}
	t.recorded()
}

// headline is the most that is known.
func (t *whatText) headline() string {
	w := t.w
	switch r := w.Region; {
	case w.Unmapped:
		return "not mapped"
	case r != nil && r.Kind == regions.Debugger:
		return "hdb's own: the " + r.Label
	case r != nil && r.Kind == regions.StackGuard:
		return "in the guard below the stack of " + t.thread(r)
	case w.Local != nil:
		return fmt.Sprintf("%s, thread-local in thread %s, of %s", w.Local, t.threads[w.Local.TID], filepath.Base(w.Local.Module))
	case w.Frame != nil && (w.Frame.Frame.CFA != 0 || r.Kind == regions.Stack || r.Kind == regions.SignalStack || r.Kind == regions.StackUnused):
		return t.stack(w.Frame)
	case w.Block != nil:
		return fmt.Sprintf("byte %s of a live block of %s at %#x", units.Grouped(uint64(w.Addr)-w.Block.Addr), t.o.Sizes.Long(w.Block.Size), w.Block.Addr)
	case w.Chunk != nil:
		return t.chunk(w.Chunk)
	case w.Slot != nil:
		return fmt.Sprintf("byte %s of %s of jemalloc at %v: %s", units.Grouped(uint64(w.Slot.Offset)), t.o.Sizes.Long(w.Slot.Size), w.Slot.Addr, regionText(&w.Slot.Region, w.Slot.Thread))
	case w.Symbol != nil:
		return t.symbol()
	case r == nil:
		return t.ofCapture()
	}
	return t.mapped(w.Region)
}

func (t *whatText) thread(r *regions.Region) string {
	if r.TID == 0 {
		return "a thread that has ended"
	}
	return "thread " + t.threads[r.TID]
}

func (t *whatText) symbol() string {
	s := t.w.Symbol
	text := desk.SymbolText(screen.ShortName(s.Name), s.Offset)
	if p := t.w.Place; p.File != "" && p.Line > 0 {
		text += fmt.Sprintf(", %s:%d", screen.ShortPath(p.File), p.Line)
	}
	return text + " in " + filepath.Base(s.Module)
}

func (t *whatText) stack(p *heaps.StackPlace) string {
	where := fmt.Sprintf("the stack of thread %d", p.Thread)
	f := p.Frame
	switch {
	case p.Below > 0:
		return fmt.Sprintf("on %s, %s below what is in use: what is there is left over", where, t.o.Sizes.Long(p.Below))
	case f.CFA == 0:
		return "on " + where
	}
	name := screen.ShortName(f.Name())
	if p.Variable != "" {
		return fmt.Sprintf("%s in frame #%d %s, on %s", desk.SymbolText(p.Variable, p.Offset), f.Num, name, where)
	}
	return fmt.Sprintf("in frame #%d %s, on %s", f.Num, name, where)
}

// chunk describes memory of glibc's malloc that the program does not hold.
func (t *whatText) chunk(k *glibc.Chunk) string {
	size := t.o.Sizes.Long(k.Size)
	switch {
	case t.w.Addr < k.Addr:
		return fmt.Sprintf("the allocator's own: the header of a chunk of %s at %v", size, k.Addr)
	case k.State == glibc.Top:
		return "free memory of the allocator that was not used yet, or was freed (the top chunk)"
	case k.State == glibc.Internal:
		return "the allocator's own: the cache of a thread"
	case k.State.Live():
		return fmt.Sprintf("beyond the end of a live block, in its chunk of %s at %v", size, k.Addr)
	case k.State.Cached():
		return fmt.Sprintf("byte %s of a freed block of %s at %v, which waits to be used again (%v)", units.Grouped(uint64(t.w.Addr-k.Addr)), size, k.Addr, k.State)
	}
	return fmt.Sprintf("byte %s of %s of free memory of the allocator at %v", units.Grouped(uint64(t.w.Addr-k.Addr)), size, k.Addr)
}

// mapped describes memory of which only the mapping is known.
func (t *whatText) mapped(r *regions.Region) string {
	at := uint64(t.w.Addr - r.Start)
	switch r.Kind {
	case regions.Stack, regions.SignalStack, regions.StackUnused:
		return "on the stack of " + t.thread(r)
	case regions.StackEnded:
		return "on the stack " + r.Label
	case regions.TLS:
		if r.TID == 0 {
			return "in thread-local storage or struct pthread " + r.Label
		}
		return "in thread-local storage or struct pthread of " + t.thread(r)
	case regions.Heap:
		return "the allocator's: " + r.Label
	case regions.Kernel:
		return "the kernel's: " + r.Path
	case regions.File, regions.Shared, regions.Code, regions.ReadOnly, regions.Data, regions.BSS:
		if r.Path != "" && r.Path != "/dev/zero" {
			return fmt.Sprintf("byte %s of %s", units.Grouped(r.Offset+at), screen.ShortPath(r.Path))
		}
	case regions.Reserved:
		return "in address space that is reserved, without access"
	}
	what := r.Kind.String() + " memory of the program"
	if r.Label != "" {
		what = r.Label
	}
	return fmt.Sprintf("byte %s of a mapping of %s, %s", units.Grouped(at), t.o.Sizes.Long(r.Size()), what)
}

// ofCapture is what is said where there is no memory to look at.
func (t *whatText) ofCapture() string {
	if w := t.w.Whence; w != nil && w.Event != nil {
		return fmt.Sprintf("byte %s of %s at %#x", units.Grouped(w.Addr-w.Start), t.o.Sizes.Long(w.Event.Size), w.Start)
	}
	return "in no module and no block that was live (a capture knows no other memory)"
}

func (t *whatText) region(r *regions.Region) string {
	text := fmt.Sprintf("%s %v-%v %s", r.Kind, r.Start, r.End, r.Perm)
	if owner := regionOwner(r, t.threads); owner != "" {
		text += ", " + owner
	}
	return text
}

// recorded describes the events that made the block or mapping, and gave it back.
func (t *whatText) recorded() {
	w := t.w.Whence
	switch {
	case w == nil:
	case w.Event != nil:
		t.event(w.Event)
	case t.w.Region == nil || t.w.Region.Module == "" && t.w.Region.Kind != regions.Debugger:
		for i, e := range t.w.About {
			mapping := e.Kind == capture.Map || e.Kind == capture.Unmap
			if last := i == len(t.w.About)-1; !mapping || last && e.Kind == capture.Map && !t.inHeap() {
				t.event(e)
			}
		}
	}
}

// inHeap reports whether the address is in memory that an allocator has mapped for itself.
func (t *whatText) inHeap() bool { return t.w.Region != nil && t.w.Region.Kind == regions.Heap }

// eventVerbs say what an event did with the memory, but for that which made it.
var eventVerbs = map[capture.Kind]string{capture.Free: "freed by", capture.Map: "mapped by", capture.Unmap: "unmapped by"}

func eventVerb(e *recording.Event) string {
	if e.Kind == capture.Protect && e.Function == capture.PoolChunk {
		return "cut into blocks since"
	}
	return cmp.Or(eventVerbs[e.Kind], "made by")
}

func (t *whatText) event(e *recording.Event) {
	t.o.Printf("%s #%d %s   thread %s   %s\n", eventVerb(e), e.Seq, desk.Called(t.o)(e), t.threads[int(e.TID)], units.Time(e.Time))
	st := t.c.Session.Queries.StackOf(e)
	if !t.c.Session.Settings.PastMain {
		st = st.ToMain()
	}
	if len(st.Frames) > 0 {
		printUserFrames(t.c, t.o, st, fmt.Sprintf("bt #%d", e.Seq))
	}
}
