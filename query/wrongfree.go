package query

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/internal/units"
	"hdb/names"
	"hdb/recording"
)

// A WrongKind is what is wrong with a call that gives a block back.
type WrongKind uint8

// The kinds.
const (
	FreedTwice   WrongKind = iota + 1 // the block was freed before, and not allocated again
	InsideBlock                       // the address is inside of a block, not its beginning
	InsideFreed                       // the same of a block that was freed
	OnStack                           // the address is on a thread's stack
	InModule                          // the address is in a module's code or data
	Misaligned                        // no block begins at such an address
	OtherFamily                       // the block was made by a function of another family, as operator new[] and delete
	FreedBefore                       // malloc has the block back, by a call of before events were followed
	InFreeMemory                      // malloc has the address in memory that is free: the block of before may have been merged with others
	NoMemory                          // no memory is mapped there
)

// String is the kind in words, and in JSON.
func (k WrongKind) String() string {
	switch k {
	case FreedTwice, FreedBefore:
		return "double free"
	case OtherFamily:
		return "mismatched free"
	case 0:
		return ""
	}
	return "invalid free"
}

// A WrongFree is a call that returns what is not a block, or not one of the function's.
type WrongFree struct {
	Kind  WrongKind
	Call  *recording.Event // of a realloc that has not run yet without a number
	Addr  uint64           // what it returns
	Made  *recording.Event // that made the block; nil: it is not recorded
	Freed *recording.Event // of FreedTwice and InsideFreed: that gave it back first
	Where string           // of OnStack and InModule: whose
	// Unsure tells that not all calls are recorded: what was freed may have been allocated again
	// since.
	Unsure bool

	// The frames of these three, innermost first, up to the user's code.
	CallFrames, MadeFrames, FreedFrames []names.Frame
}

// Why says why the call is wrong, with calls in the words of word.
func (w *WrongFree) Why(word func(*recording.Event) string, sizes units.Sizes) string {
	numbered := func(e *recording.Event) string { return fmt.Sprintf("#%d %s", e.Seq, word(e)) }
	start, size := w.Block()
	inside := fmt.Sprintf("%#x is %s inside the block of %s", w.Addr, sizes.Long(w.Addr-start), sizes.Long(size))
	switch w.Kind {
	case FreedTwice:
		return "the block was freed before, by " + numbered(w.Freed)
	case InsideBlock:
		return inside + " of " + numbered(w.Made)
	case InsideFreed:
		if w.Made == nil {
			return "the address is inside a block that was freed by " + numbered(w.Freed)
		}
		return inside + " that was freed by " + numbered(w.Freed)
	case OnStack:
		return "the address is on the stack of " + w.Where
	case InModule:
		return "the address is in " + w.Where + ", not on the heap"
	case FreedBefore:
		return "malloc has the block as free: it was freed before events were followed"
	case InFreeMemory:
		return "the address is in free memory of malloc: if a block was there, it was freed before events were followed"
	case NoMemory:
		return "no memory is mapped there: if a block was there, it was freed before events were followed"
	case Misaligned:
		return "no block begins there: the address is no multiple of 16"
	case OtherFamily:
		return fmt.Sprintf("the block was allocated by %s, and must be freed by %s", numbered(w.Made), takesBack[FamilyOf(w.Made.Function)])
	}
	return ""
}

// takesBack are the functions that take the blocks of a family back.
var takesBack = map[Family]string{FamilyC: "free", FamilyNew: "operator delete", FamilyArray: "operator delete[]"}

// CallText is the call in the words of word, without the result of one that has not run.
func (w *WrongFree) CallText(word func(*recording.Event) string) string {
	text := word(w.Call)
	if w.Call.Seq != 0 {
		return fmt.Sprintf("#%d %s", w.Call.Seq, text)
	}
	text, _, _ = strings.Cut(text, " = ")
	return text
}

// Block is the block that the call is about, 0 if there is none.
func (w *WrongFree) Block() (start, size uint64) {
	if w.Made == nil {
		return 0, 0
	}
	return w.Made.Addr, w.Made.Size
}

// GivenBack is the address of the block that an event returns, 0 if it is none that does.
func GivenBack(e *recording.Event) uint64 {
	switch {
	case e.Kind == capture.Free:
		return e.Addr
	case e.Kind == capture.Realloc && !e.Failed:
		return e.Old
	}
	return 0
}

// A Past is what is known of the calls before one that gives a block back.
type Past struct {
	Gap uint64 // the last event before calls that were not seen: what was freed up to there may have been allocated since
	// Doubt is a time: what was freed before may have been allocated unseen.
	Doubt time.Duration
	Lives bool // the block lives, as the ledger of the heap has it
	// Stack is the stack of an event to come; nil: it is in the recording.
	Stack []names.Frame
}

// WrongFree is what is wrong with an event that gives a block back, nil if nothing is known to
// be. An event without a number is to come.
func (r *Recording) WrongFree(e *recording.Event, past Past) *WrongFree {
	addr := GivenBack(e)
	if addr == 0 || !Judged(e.Function) {
		return nil
	}
	w := &WrongFree{Call: e, Addr: addr, Unsure: r.gappy()}
	from := e.Seq - 1
	if e.Seq == 0 {
		from = math.MaxUint64
	}
	if r.Index == nil || !r.wrong(w, e, from, past) {
		return nil
	}
	if w.Freed != nil {
		if w.Made = r.maker(w.Freed); w.Made != nil && !Judged(w.Made.Function) {
			return nil // the end of a pool's block, which came with the end of another
		}
	}
	w.CallFrames, w.MadeFrames, w.FreedFrames = r.toOwner(w.Call), r.toOwner(w.Made), r.toOwner(w.Freed)
	return w
}

// maker is the event that made the block which an event has freed, nil if it is not recorded.
func (r *Recording) maker(freed *recording.Event) *recording.Event {
	block := GivenBack(freed)
	for e := range r.Index.About(block, freed.Seq-1) {
		if e.Allocates() && e.Addr == block {
			return withName(r.Source, *e)
		}
	}
	return nil
}

// Judged tells functions of malloc's and operator new's families: those of others may return blocks
// that are in these.
func Judged(function string) bool {
	fn, ok := breakpoints.Named(function)
	return ok && (fn.Group == breakpoints.GroupC || fn.Group == breakpoints.GroupCXX)
}

// gappy tells that events between others may not be recorded.
func (r *Recording) gappy() bool {
	info := r.Source.Info()
	return info.Totals.Lost > 0 || slices.ContainsFunc([]capture.ReasonKind{
		capture.Paused, capture.Stopped, capture.OnlyEvents, capture.FreedUnseen, capture.Trimmed, capture.Failed,
	}, info.Partial.Has)
}

// wrong finds out what is wrong by the events up to #from, the last about the address first.
func (r *Recording) wrong(w *WrongFree, e *recording.Event, from uint64, past Past) bool {
	addr := w.Addr
	for event := range r.Index.About(addr, from) {
		last := withName(r.Source, *event)
		if last.Kind == capture.Map || last.Kind == capture.Unmap || last.Kind == capture.Protect {
			continue
		}
		if r.Reading.GivenUp() || !Judged(last.Function) { // pools and allocators of the user's have blocks in others
			return false
		}
		ended := GivenBack(last)
		switch {
		case last.Allocates() && last.Addr == addr:
			w.Made = last
			w.Kind = OtherFamily
			return r.mismatched(w.Made, e, past.Stack)
		case past.Lives:
			return false
		case last.Allocates() && last.Addr < addr && addr-last.Addr < last.Size:
			w.Kind, w.Made = InsideBlock, last
			return last.Seq > past.Gap // else it may have been freed unseen
		case ended == 0 || !last.Ended.Recorded || last.Seq <= past.Gap, last.Time < past.Doubt:
			if last.Kind == capture.Free && !last.Ended.Recorded {
				continue // of no block
			}
			return false
		case ended == addr:
			w.Kind, w.Freed = FreedTwice, last
			return true
		}
		w.Kind, w.Freed = InsideFreed, last
		return last.Ended.Seq > past.Gap // else its size may be another's that was there unseen
	}
	return false
}

// FreedAgain is a call that returns what a recorded free, which is the last event about the address, has freed
// as an unknown block; nil without one. Whether it was a block is for the caller to decide.
func (r *Recording) FreedAgain(e *recording.Event) *WrongFree {
	w := &WrongFree{Kind: FreedTwice, Call: e, Addr: GivenBack(e)}
	from := e.Seq - 1
	if e.Seq == 0 {
		from = math.MaxUint64
	}
	if w.Addr == 0 || !Judged(e.Function) {
		return nil
	}
	for event := range r.Index.About(w.Addr, from) {
		last := withName(r.Source, *event)
		if last.Kind != capture.Free || GivenBack(last) != w.Addr || !Judged(last.Function) {
			return nil
		}
		w.Freed, w.FreedFrames = last, r.toOwner(last)
		return w
	}
	return nil
}

// mismatched reports whether a block that one function made is freed by one of another family.
// malloc and free that were called by an operator new or delete which is not followed, a static
// copy for instance, are no family of their own: whoever calls them has to have a name.
func (r *Recording) mismatched(made, freed *recording.Event, stack []names.Frame) bool {
	a, b := FamilyOf(made.Function), FamilyOf(freed.Function)
	if !a.Differs(b) {
		return false
	}
	switch {
	case a == FamilyC:
		return callerIsKnown(r.Stack(made).Frames)
	case b != FamilyC:
		return true
	case stack == nil:
		stack = r.Stack(freed).Frames
	}
	return callerIsKnown(stack)
}

// callerIsKnown reports whether the function that made a call of malloc's family has a name, and is
// no operator new or delete.
func callerIsKnown(frames []names.Frame) bool {
	for i := range frames {
		f := &frames[i]
		if f.Function == "" || strings.HasPrefix(f.Function, "operator new") || strings.HasPrefix(f.Function, "operator delete") {
			return false
		}
		if !f.Inlined {
			return true
		}
	}
	return false
}

// A Family is functions that go together.
type Family uint8

// The families.
const (
	NoFamily Family = iota // any
	FamilyC
	FamilyNew
	FamilyArray
	FamilyUnknown // one of these: functions of several families are the same code
)

// Differs reports whether a block of one family must not be freed by a function of the other.
func (f Family) Differs(g Family) bool {
	known := func(f Family) bool { return f == FamilyC || f == FamilyNew || f == FamilyArray }
	return f != g && known(f) && known(g)
}

// FamilyOf is the family of an allocator function.
func FamilyOf(function string) Family {
	names := breakpoints.Names(function)
	family := familyOf(names[0])
	for _, name := range names[1:] {
		if familyOf(name) != family {
			return FamilyUnknown
		}
	}
	return family
}

func familyOf(name string) Family {
	fn, ok := breakpoints.Named(name)
	switch {
	case !ok:
		return NoFamily
	case fn.Group == breakpoints.GroupCXX && strings.HasSuffix(fn.Name, "[]"):
		return FamilyArray
	case fn.Group == breakpoints.GroupCXX:
		return FamilyNew
	case cFamily[fn.Name]:
		return FamilyC
	}
	return NoFamily
}

// cFamily are the functions of the C library whose blocks free takes.
var cFamily = map[string]bool{
	"malloc": true, "calloc": true, "realloc": true, "reallocarray": true, "aligned_alloc": true, "memalign": true,
	"posix_memalign": true, "valloc": true, "pvalloc": true, "free": true, "cfree": true, "free_sized": true, "free_aligned_sized": true,
}

// toOwner is the stack of an event up to the user's code, without frames if it has none.
func (r *Recording) toOwner(e *recording.Event) []names.Frame {
	if e == nil {
		return nil
	}
	st := r.Stack(e)
	if len(st.Frames) == 0 {
		return nil
	}
	return st.Frames[:r.Attribution.Owner(st.Frames)+1]
}

// FreesInside reports whether a stack leads through a function that frees: what that returns in
// turn is its own affair, as of an operator delete that frees the header in front of its block.
func FreesInside(frames []names.Frame) bool {
	for i := range frames {
		name, _, _ := strings.Cut(frames[i].Function, "(")
		if fn, ok := breakpoints.Named(name); ok && (fn.Frees() || fn.Kind == capture.Realloc) {
			return true
		}
	}
	return false
}

// Unjudged counts frees of addresses where no recorded event had made a block: a call that is not recorded may have
// made it, or it is none.
type Unjudged struct {
	Count int
	First uint64 // event
}

// WrongFrees are the recorded calls up to the moment that are wrong, oldest first, and the frees that could not be judged.
func (r *Recording) WrongFrees() (all []*WrongFree, unknown Unjudged) {
	gappy := r.gappy()
	made := map[uint64]Family{} // the blocks of operator new that live
	for e := range r.Source.Events(0) {
		if e.Seq > r.Moment || r.Reading.GivenUp() {
			break
		}
		family := FamilyOf(functionName(r.Source, e))
		suspect := false
		switch {
		case e.Kind == capture.Free && family != NoFamily:
			suspect = !e.SizeKnown() || !gappy && !e.Ended.Recorded || e.Ended.Recorded && family != FamilyUnknown && made[e.Addr] != newFamily(family)
			delete(made, e.Addr)
		case e.Kind == capture.Realloc && family != NoFamily && e.Old != 0:
			suspect = !gappy && !e.Ended.Recorded || made[e.Old] != NoFamily
			delete(made, e.Old)
		}
		if e.Allocates() && newFamily(family) != NoFamily {
			made[e.Addr] = family
		}
		if !suspect {
			continue
		}
		call := withName(r.Source, e)
		if FreesInside(r.Stack(call).Frames) {
			continue
		}
		if w := r.WrongFree(call, Past{}); w != nil {
			all = append(all, w)
		} else if e.Kind == capture.Free && !e.SizeKnown() && Judged(call.Function) {
			unknown.Count++
			unknown.First = cmp.Or(unknown.First, e.Seq)
		}
	}
	return all, unknown
}

// newFamily is the family if it is one of operator new's.
func newFamily(f Family) Family {
	if f == FamilyC || f == FamilyUnknown {
		return NoFamily
	}
	return f
}

// functionName is the name of an event's function.
func functionName(src capture.Source, e capture.Event) string {
	if fns := src.Functions(); int(e.Func) < len(fns) {
		return fns[e.Func]
	}
	return ""
}
