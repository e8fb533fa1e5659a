package breakpoints

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
)

// A shadow is the stack of allocator calls that one thread of the inferior is
// in. The first is the user's; the others were made inside of it and are
// followed only because they may turn out to be calls in their own right.
type shadow struct {
	calls     []*pending
	freed     freed
	restarted bool  // free has jumped to its own entry, see Site.Restarts
	inside    *Call // the last call inside that allocated, not reported yet: it may turn out as the work of the one around it
}

// A pending call has been entered, and its return is awaited.
type pending struct {
	Call
	site   *site
	served []*site // functions inside that do the work, each once
}

// freed is the last free of a thread. Its return is not
// awaited, so what it calls is recognised by the block and the stack.
type freed struct {
	Call
	sites []*site // operator delete, then free; empty: no such free
}

// maxWindow is how much of the stack one read may cover, in bytes.
const maxWindow = 2048

// A window is a copy of the stack upwards from the SP of a thread, so that
// one read shows all return addresses that matter.
type window struct {
	memory reader
	low    addr.Run
	data   [maxWindow]byte
	size   int
}

// look copies the stack at sp up to the slot at high, if that is near.
func (w *window) look(sp, high addr.Run) error {
	w.low, w.size = sp, 8
	if high > sp && high-sp <= maxWindow-8 {
		w.size = int(high-sp) + 8
	}
	n, err := w.memory.ReadAt(w.data[:w.size], int64(sp))
	w.size = n
	if n < 8 {
		return err
	}
	return nil
}

// word is the 8 bytes of the stack at a; 0 if they cannot be read.
func (w *window) word(a addr.Run) uint64 {
	if i := a - w.low; a >= w.low && int(i)+8 <= w.size {
		return binary.LittleEndian.Uint64(w.data[i:])
	}
	v, _ := w.memory.word(a)
	return v
}

// intact reports whether the return address of a call is still where it was.
func (w *window) intact(c *Call) bool { return w.word(c.SP) == uint64(c.Return) }

// reach is the highest return address slot that enter may want to see.
func (s *shadow) reach() addr.Run {
	var high addr.Run
	if len(s.calls) > 0 {
		high = s.calls[0].SP
	}
	if len(s.freed.sites) > 0 {
		high = max(high, s.freed.SP)
	}
	return high
}

// entryHit is the handler of a site's trap.
func (t *Tracer) entryHit(s *site, th *inferior.Thread) inferior.Action {
	regs, err := th.Regs()
	if err != nil {
		return t.lose(fmt.Errorf("%s: registers of thread %d: %w", s.Function.Name, th.TID, err))
	}
	return t.enter(s, th, int32(th.TID), regs)
}

// returnHit is the handler of the trap at return address a.
func (t *Tracer) returnHit(a addr.Run, th *inferior.Thread) inferior.Action {
	regs, err := th.Regs()
	if err != nil {
		return t.lose(fmt.Errorf("return to %s: registers of thread %d: %w", a, th.TID, err))
	}
	return t.leave(a, th, int32(th.TID), regs)
}

// enter handles thread tid at the entry of a site: one read of the stack, and
// a trap planted if the return address is new.
func (t *Tracer) enter(s *site, th *inferior.Thread, tid int32, regs inferior.Registers) inferior.Action {
	sh := t.shadow(tid)
	call := newCall(s, tid, regs)
	if err := t.stack.look(call.SP, sh.reach()); err != nil {
		return t.lose(fmt.Errorf("%s: return address: %w", s.Function.Name, err))
	}
	call.Return = addr.Run(t.stack.word(call.SP))
	action := t.abandonStale(sh, s, &call, th)
	switch {
	case call.void(), covers(s.In, call.Return) && s.Function.ByOwners(s.In.Path):
		return action
	case s.Function.Group == GroupGo:
		return max(action, t.enterGo(call, th))
	case t.insideFree(sh, s, &call):
		t.stats.Inner++
		return action
	case s.Function.atEntry():
		return max(action, t.enterFree(sh, s, call, th))
	}
	return max(action, t.enterAlloc(sh, s, call, th))
}

// maxShadows is how many threads are remembered before those that are in no
// call are forgotten: threads may end without ThreadExited being called.
const maxShadows = 4096

// shadow is the shadow stack of a thread.
func (t *Tracer) shadow(tid int32) *shadow {
	sh := t.shadows[tid]
	if sh == nil {
		if len(t.shadows) >= maxShadows {
			maps.DeleteFunc(t.shadows, func(_ int32, s *shadow) bool { return len(s.calls) == 0 })
		}
		sh = &shadow{}
		t.shadows[tid] = sh
	}
	return sh
}

// newCall is the call with what is known at its entry but the return address.
func newCall(s *site, tid int32, regs inferior.Registers) Call {
	c := Call{Function: s.Function, Entry: s.Addr, SP: regs.SP(), Regs: regs, Now: addr.PC(s.Addr)}
	for i := range c.Args {
		c.Args[i] = regs.Arg(i)
	}
	if s.Function.Group == GroupGo {
		c.Args[0], c.Args[1] = regs.Rax, regs.Rbx // the first integer arguments of Go's ABIInternal
	}
	c.Event.TID = tid
	c.begin()
	return c
}

// abandonStale drops the calls that a thread which now enters s has left
// without returning, and reports the user's one among them.
func (t *Tracer) abandonStale(sh *shadow, s *site, now *Call, th *inferior.Thread) inferior.Action {
	action := inferior.Resume
	for n := len(sh.calls) - 1; n >= 0; n-- {
		p := sh.calls[n]
		if !t.stale(p, s, now) {
			break
		}
		t.drop(sh, n)
		if n > 0 {
			continue
		}
		t.stats.Abandoned++
		p.abandon()
		p.Regs, p.Now = now.Regs, now.Now
		action = max(t.reportInside(sh, &p.Call, th), t.report(p.Call, th))
	}
	return action
}

// stale reports whether the thread cannot be inside p any more. With the stack
// pointer and return address of p it has been called by a jump from p, unless
// it enters the very same function, which is the next call from the same place.
func (t *Tracer) stale(p *pending, s *site, now *Call) bool {
	switch {
	case now.SP > p.SP:
		return true
	case now.SP == p.SP:
		return now.Return != p.Return || p.site == s
	}
	return !t.stack.intact(&p.Call)
}

// enterAlloc follows a call whose result is awaited, unless it does the work
// of the call around it.
func (t *Tracer) enterAlloc(sh *shadow, s *site, call Call, th *inferior.Thread) inferior.Action {
	sh.freed.sites = sh.freed.sites[:0]
	if n := len(sh.calls); n > 0 && sh.calls[n-1].servedBy(s, &call) {
		t.stats.Inner++
		return inferior.Resume
	}
	if err := t.retain(call.Return); err != nil {
		return t.lose(fmt.Errorf("%s: %w", s.Function.Name, err))
	}
	p := &pending{Call: call, site: s}
	sh.calls = append(sh.calls, p)
	if p.Event.Kind == capture.Realloc && p.Event.Old != 0 {
		t.resizes[p.Event.Old] = p
		return t.sink.Begin(th, call)
	}
	return inferior.Resume
}

// servedBy reports whether a call made inside p does the work of p, and so is
// no call in its own right: the first of each function that gets enough
// memory. What else is allocated inside operator new, such as the exception
// it throws, outlives it if it does not return. What is called from another
// module than those at work is the user's: a signal handler's, a new-handler's.
func (p *pending) servedBy(s *site, c *Call) bool {
	tail := c.SP == p.SP
	if !tail && !p.atWork(c.Return) {
		return false
	}
	switch f := p.Function; {
	case tail, s.Function.Group == GroupVM, f.Kind != capture.Alloc, f.Own():
	case c.Event.Kind != capture.Alloc, slices.Contains(p.served, s):
		return false
	case p.site.Exceptions.Contains(c.Return), p.lastAtWork().Exceptions.Contains(c.Return):
		return false
	case f.Size.From != Nowhere && f.Size.From != TextLength && c.Event.Size < p.Event.Size:
		return false
	}
	p.served = append(p.served, s)
	if s.Function.Group != GroupVM && !slices.Contains(p.Inner, s.Function.Name) {
		p.Inner = append(p.Inner, s.Function.Name)
	}
	return true
}

// atWork reports whether a is in a module whose function does the work of p: its own module, or the
// module of the last function it has called. A user's function may call from anywhere.
func (p *pending) atWork(a addr.Run) bool {
	return p.Function.Own() || covers(p.site.In, a) || covers(p.lastAtWork().In, a)
}

// lastAtWork is the function that did the work of p last.
func (p *pending) lastAtWork() *site {
	if n := len(p.served); n > 0 {
		return p.served[n-1]
	}
	return p.site
}

// insideFree reports whether call belongs to the last free that was reported:
// it frees the same block further on, or maps and unmaps memory for it.
func (t *Tracer) insideFree(sh *shadow, s *site, call *Call) bool {
	f := &sh.freed
	if len(f.sites) == 0 || call.SP > f.SP {
		return false
	}
	if slices.Contains(f.sites, s) {
		again := s.Restarts && !sh.restarted && call.Event.Addr == f.Event.Addr && t.stack.intact(&f.Call)
		sh.restarted = sh.restarted || again
		return again
	}
	if s.Function.Group == GroupVM {
		// A program that unmaps memory of its own does so from elsewhere.
		own := func(o *site) bool { return covers(o.In, call.Return) }
		return slices.ContainsFunc(f.sites, own) && t.stack.intact(&f.Call)
	}
	if call.Event.Kind != capture.Free || call.Event.Addr != f.Event.Addr || !t.stack.intact(&f.Call) {
		return false
	}
	f.sites = append(f.sites, s)
	return true
}

// enterFree reports a free, unless it belongs to the call it happens in.
func (t *Tracer) enterFree(sh *shadow, s *site, call Call, th *inferior.Thread) inferior.Action {
	if n := len(sh.calls); n > 0 && sh.calls[n-1].freesInside(&call) {
		t.stats.Inner++
		return inferior.Resume
	}
	if call.Event.Kind == capture.Free {
		sh.freed = freed{Call: call, sites: append(sh.freed.sites[:0], s)}
	}
	if s.Release.Contains(call.Return) { // the cache of a thread that ends
		t.stats.Inner++
		return inferior.Resume
	}
	return max(t.reportInside(sh, &call, th), t.report(call, th))
}

// freesInside reports whether a free inside p is p's own affair: a realloc's
// old block, or what a user's function does. Inside operator new it is the
// user's new-handler that frees, or the exception's end.
func (p *pending) freesInside(c *Call) bool {
	own := p.Function.Kind != capture.Alloc || p.Function.Own() || c.Function.Group == GroupVM
	return own && p.atWork(c.Return)
}

// enterGo reports a call in a Go program, unless mallocgc makes it.
func (t *Tracer) enterGo(call Call, th *inferior.Thread) inferior.Action {
	inside := slices.ContainsFunc(t.sites, func(s *site) bool {
		return s.Function.Symbol == goMalloc && s.Addr < call.Return && call.Return < s.Addr+addr.Run(s.Size)
	})
	if inside {
		t.stats.Inner++
		return inferior.Resume
	}
	return t.report(call, th)
}

// leave handles thread tid at the return address a.
func (t *Tracer) leave(a addr.Run, th *inferior.Thread, tid int32, regs inferior.Registers) inferior.Action {
	sh := t.shadows[tid]
	slot := regs.SP() - 8 // ret has popped it
	n := -1
	if sh != nil {
		n = slices.IndexFunc(sh.calls, func(p *pending) bool { return p.SP == slot && p.Return == a })
	}
	if n < 0 {
		t.strayReturn(a)
		return inferior.Resume
	}
	p := sh.calls[n]
	t.drop(sh, n)
	p.Regs, p.Now = regs, addr.Return(a)
	p.finish(regs.Result(), t.memory)
	action := t.endReallocs(p, th)
	if n > 0 && p.Event.Failed {
		return action // the call around it will tell
	}
	if sh.inside != nil && p.Event.Addr != 0 && sh.inside.Event.Addr == p.Event.Addr {
		sh.inside = nil // it has done p's work
	}
	action = max(action, t.reportInside(sh, &p.Call, th))
	if n == 0 {
		return max(action, t.report(p.Call, th))
	}
	p.Kept = t.sink.Keep(th, p.Call)
	sh.inside = &p.Call
	return action
}

// reportInside reports the last call inside the one that a thread is in: a
// new-handler's blocks are the user's. now is where the thread is.
func (t *Tracer) reportInside(sh *shadow, now *Call, th *inferior.Thread) inferior.Action {
	if sh.inside == nil {
		return inferior.Resume
	}
	c := *sh.inside
	sh.inside = nil
	c.Regs, c.Now = now.Regs, now.Now
	return t.report(c, th)
}

// endReallocs reports the end of a block that a realloc of another thread has
// given up already, because p was handed the same address.
func (t *Tracer) endReallocs(p *pending, th *inferior.Thread) inferior.Action {
	r := t.resizes[p.Event.Addr]
	if r == nil || p.Event.Failed || r.Event.TID == p.Event.TID {
		return inferior.Resume
	}
	delete(t.resizes, p.Event.Addr)
	c := r.Call
	c.Event.Kind, c.Event.Addr, c.Event.Old, c.Event.Size = capture.Free, r.Event.Old, 0, 0
	r.Event.Old = 0
	c.Regs, c.Now = p.Regs, p.Now
	return t.report(c, th)
}

// drop takes the calls from index n on off the shadow stack.
func (t *Tracer) drop(sh *shadow, n int) {
	for _, p := range sh.calls[n:] {
		t.release(p.Return)
		if t.resizes[p.Event.Old] == p {
			delete(t.resizes, p.Event.Old)
		}
	}
	clear(sh.calls[n:])
	sh.calls = sh.calls[:n]
}

// report hands a call to the sink.
func (t *Tracer) report(c Call, th *inferior.Thread) inferior.Action {
	t.stats.Calls++
	return t.sink.Alloc(th, c)
}
