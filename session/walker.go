package session

import (
	"fmt"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/query"
	"hdb/unwind"
)

// walker walks the stacks of stopped threads.
type walker struct {
	*common
	walk *unwind.Walker
}

// raw walks a stopped thread without asking for names. now is what the
// tracer knows of the PC: a return address stands behind a call, a PC at the entry
// of a function, where the return address is on top of the stack, whatever the
// module's CFI says or lacks. The zero Code knows nothing. Behind the frames of a goroutine
// comes the go statement that made it. The frames are valid until the next walk.
func (w *walker) raw(t *inferior.Thread, limit int, now addr.Code) (unwind.Stack, error) {
	raw, err := w.frames(t, limit, now)
	w.golang.look(w.image, w.names.Modules)
	if n := len(raw.Frames); err == nil && n > 0 && n < limit && w.golang.isExit(raw.Frames[n-1].PC) {
		if g, ok := w.goroutine(t); ok && g.creator != (addr.Code{}) {
			raw.Frames = append(raw.Frames, unwind.Frame{PC: g.creator, How: unwind.CFI})
		}
	}
	return raw, err
}

// frames are those that the thread's stack has.
func (w *walker) frames(t *inferior.Thread, limit int, now addr.Code) (unwind.Stack, error) {
	regs, err := t.Regs()
	if err != nil {
		return unwind.Stack{}, fmt.Errorf("thread %d: %w", t.Num, err)
	}
	here := regs.Unwind()
	if now == (addr.Code{}) || now.Addr() != regs.PC() {
		return w.shown(here, limit), nil
	}
	if now.IsReturn() {
		raw := w.walk.Walk(w.image, here, limit)
		if len(raw.Frames) > 0 {
			raw.Frames[0].PC = now
		}
		return raw, nil
	}
	ret, err := w.readPointer(regs.SP())
	if err != nil {
		return unwind.Stack{}, fmt.Errorf("thread %d: return address: %w", t.Num, err)
	}
	caller := here
	caller.Set(unwind.RIP, uint64(ret))
	caller.Set(unwind.RSP, uint64(regs.SP())+8)
	raw := w.walk.Walk(w.image, caller, limit)
	if len(raw.Frames) > 0 {
		raw.Frames[0].PC, raw.Frames[0].How = addr.Return(ret), unwind.CFI // as sure as CFI
	}
	entry := unwind.Frame{PC: now, CFA: regs.SP() + 8, Regs: here, How: unwind.Entry}
	raw.Frames = append([]unwind.Frame{entry}, raw.Frames...)
	return raw, nil
}

// maxProbeFrames is how many frames of the probe's own one stack can have.
const maxProbeFrames = 16

// shown walks a stack and leaves out the frames of the probe's own code, in which a
// thread may stand: it is no part of the program. A stack of nothing else stays.
func (w *walker) shown(here unwind.Regs, limit int) unwind.Stack {
	raw := w.walk.Walk(w.image, here, limit)
	own := func(f unwind.Frame) bool { return w.probe != nil && w.probe.Covers(f.PC.Lookup()) }
	if !slices.ContainsFunc(raw.Frames, own) {
		return raw
	}
	raw = w.walk.Walk(w.image, here, limit+maxProbeFrames)
	shown := slices.DeleteFunc(slices.Clone(raw.Frames), own)
	if len(shown) > 0 {
		raw.Frames = shown[:min(limit, len(shown))]
	}
	return raw
}

// stack is raw with names and inlined calls.
func (w *walker) stack(t *inferior.Thread, limit int, now addr.Code) (names.Stack, error) {
	raw, err := w.raw(t, limit, now)
	if err != nil {
		return names.Stack{}, err
	}
	return w.names.Stack(raw), nil
}

// toOwner names the frames of a stack from the innermost on until it is known which one a
// block belongs to that was allocated there, and returns the index of that.
func (w *walker) toOwner(raw []unwind.Frame) (frames []names.Frame, owner int) {
	var roles []query.Role
	for _, f := range raw {
		known, final := len(frames), false
		frames = w.names.AppendFrames(frames, f)
		roles = w.attribution.Roles(roles, frames[known:])
		if owner, final = query.OwnerSoFar(roles); final {
			break
		}
	}
	return frames, owner
}
