package target

import (
	"fmt"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/query"
	"hdb/unwind"
)

// Walker walks the stacks of stopped threads.
type Walker struct {
	target *Target
	Walk   *unwind.Walker
}

// NewWalker walks by the CFI of the modules that a target has.
func NewWalker(c *Target) *Walker { return &Walker{c, unwind.NewWalker(c.Names.Modules)} }

// Raw walks a stopped thread without asking for names. now is what the tracer knows the PC: a
// return address is behind a call, a PC at the entry of a function, where the return address is on
// top of the stack, whatever the module's CFI says or lacks. The zero Code knows nothing. Behind
// the frames of a goroutine comes the go statement that made it. The frames are valid until the
// next walk.
func (w *Walker) Raw(t *inferior.Thread, limit int, now addr.Code) (unwind.Stack, error) {
	raw, err := w.frames(t, limit, now)
	w.target.Go.Look(w.target.Image, w.target.Names.Modules)
	if n := len(raw.Frames); err == nil && n > 0 && n < limit && w.target.Go.IsExit(raw.Frames[n-1].PC) {
		if g, ok := w.target.Goroutine(t); ok && g.Creator != (addr.Code{}) {
			raw.Frames = append(raw.Frames, unwind.Frame{PC: g.Creator, How: unwind.CFI})
		}
	}
	return raw, err
}

// frames are those that the thread's stack has.
func (w *Walker) frames(t *inferior.Thread, limit int, now addr.Code) (unwind.Stack, error) {
	regs, err := t.Regs()
	if err != nil {
		return unwind.Stack{}, fmt.Errorf("thread %d: %w", t.Num, err)
	}
	here := regs.Unwind()
	if now == (addr.Code{}) || now.Addr() != regs.PC() {
		return w.Shown(here, limit), nil
	}
	if now.IsReturn() {
		raw := w.Walk.Walk(w.target.Image, here, limit)
		if len(raw.Frames) > 0 {
			raw.Frames[0].PC = now
		}
		return raw, nil
	}
	ret, err := w.target.ReadPointer(regs.SP())
	if err != nil {
		return unwind.Stack{}, fmt.Errorf("thread %d: return address: %w", t.Num, err)
	}
	caller := here
	caller.Set(unwind.RIP, uint64(ret))
	caller.Set(unwind.RSP, uint64(regs.SP())+8)
	raw := w.Walk.Walk(w.target.Image, caller, limit)
	if len(raw.Frames) > 0 {
		raw.Frames[0].PC, raw.Frames[0].How = addr.Return(ret), unwind.CFI // as sure as CFI
	}
	entry := unwind.Frame{PC: now, CFA: regs.SP() + 8, Regs: here, How: unwind.Entry}
	raw.Frames = append([]unwind.Frame{entry}, raw.Frames...)
	return raw, nil
}

// maxProbeFrames is how many frames of the probe's own one stack can have.
const maxProbeFrames = 16

// Shown walks a stack and leaves out the frames of the probe's own code, in which a thread may be:
// it does not belong to the program. A stack of nothing else stays.
func (w *Walker) Shown(here unwind.Regs, limit int) unwind.Stack {
	raw := w.Walk.Walk(w.target.Image, here, limit)
	own := func(f unwind.Frame) bool { return w.target.Probe != nil && w.target.Probe.Covers(f.PC.Lookup()) }
	if !slices.ContainsFunc(raw.Frames, own) {
		return raw
	}
	raw = w.Walk.Walk(w.target.Image, here, limit+maxProbeFrames)
	shown := slices.DeleteFunc(slices.Clone(raw.Frames), own)
	if len(shown) > 0 {
		raw.Frames = shown[:min(limit, len(shown))]
	}
	return raw
}

// Stack is raw with names and inlined calls.
func (w *Walker) Stack(t *inferior.Thread, limit int, now addr.Code) (names.Stack, error) {
	raw, err := w.Raw(t, limit, now)
	if err != nil {
		return names.Stack{}, err
	}
	return w.target.Names.Stack(raw), nil
}

// ToOwner names the frames of a stack from the innermost on until it is known which one a
// block belongs to that was allocated there, and returns the index of that.
func (w *Walker) ToOwner(raw []unwind.Frame) (frames []names.Frame, owner int) {
	var roles []query.Role
	for _, f := range raw {
		known, final := len(frames), false
		frames = w.target.Names.AppendFrames(frames, f)
		roles = w.target.Attribution.Roles(roles, frames[known:])
		if owner, final = query.OwnerSoFar(roles); final {
			break
		}
	}
	return frames, owner
}
