package probe

import (
	"encoding/binary"
	"errors"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// A leftover is what a probe has mapped in a process: what Close leaves there, because a
// thread may be inside, or what an hdb that was killed has left. The probe keeps a card
// of it behind the core, in memory that a fork child has a copy of, for the next hdb that
// attaches.
type leftover struct {
	place   addr.Run
	islands []addr.Run
	entries []addr.Run // of functions that may have a jump to an island
	// pointers are those that were exchanged.
	pointers []exchanged
	calls    []openCall // that threads were in when hdb let go
}

// An openCall is a call that a thread is in.
type openCall struct {
	tid uint32
	sp  addr.Run // where the caller's return address is; the probe's is below
}

// The card, in words of 8 bytes: cardMagic, cardLayout, and the numbers of the four lists, which
// follow at fixed places.
const (
	cardMagic  = 0x6472616320626468 // "hdb card"
	cardLayout = 1<<60 | fileSlots<<32 | slotSize<<16 | shadowSize

	cardIslands = 8 * 8
	cardCalls   = cardIslands + 8*maxCardIslands
	cardEntries = cardCalls + 2*8*maxCardCalls
	cardPointer = cardEntries + 8*maxCardEntries
	cardSize    = (cardPointer + 3*8*maxCardPointers + 4095) &^ 4095

	maxCardIslands = 248
	maxCardCalls   = 256
	maxCardEntries = MaxFunctions + 512 // and what looks for unwinding information

	maxCardPointers = 256

	placeCard = placeCore + maxCore
)

// card describes the leftover in the process; empty if there is no room for it, and it
// stays without end.
func (l *leftover) card() []byte {
	if len(l.islands) > maxCardIslands || len(l.calls) > maxCardCalls || len(l.entries) > maxCardEntries || len(l.pointers) > maxCardPointers {
		return make([]byte, 8)
	}
	b := make([]byte, cardEntries+8*len(l.entries))
	if len(l.pointers) > 0 {
		b = make([]byte, cardPointer+3*8*len(l.pointers))
	}
	put := func(at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }
	for i, v := range []uint64{cardMagic, cardLayout, uint64(len(l.islands)), uint64(len(l.calls)), uint64(len(l.entries)), uint64(len(l.pointers))} {
		put(8*i, v)
	}
	for i, a := range l.islands {
		put(cardIslands+8*i, uint64(a))
	}
	for i, c := range l.calls {
		put(cardCalls+16*i, uint64(c.tid))
		put(cardCalls+16*i+8, uint64(c.sp))
	}
	for i, a := range l.entries {
		put(cardEntries+8*i, uint64(a))
	}
	for i, at := range l.pointers {
		put(cardPointer+24*i, uint64(at.place))
		put(cardPointer+24*i+8, uint64(at.to))
		put(cardPointer+24*i+16, uint64(at.entrance))
	}
	return b
}

// readCard is the leftover at a place, nil if the card is none.
func readCard(place addr.Run, b []byte) *leftover {
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	if len(b) < cardSize || word(0) != cardMagic || word(8) != cardLayout ||
		word(16) > maxCardIslands || word(24) > maxCardCalls || word(32) > maxCardEntries || word(40) > maxCardPointers {
		return nil
	}
	l := &leftover{place: place}
	for i := range int(word(16)) {
		l.islands = append(l.islands, addr.Run(word(cardIslands+8*i)))
	}
	for i := range int(word(24)) {
		l.calls = append(l.calls, openCall{uint32(word(cardCalls + 16*i)), addr.Run(word(cardCalls + 16*i + 8))})
	}
	for i := range int(word(32)) {
		l.entries = append(l.entries, addr.Run(word(cardEntries+8*i)))
	}
	for i := range int(word(40)) {
		at := cardPointer + 24*i
		l.pointers = append(l.pointers, exchanged{pointed{addr.Run(word(at)), addr.Run(word(at + 8))}, addr.Run(word(at + 16))})
	}
	return l
}

// covers tells an address in the leftover's code.
func (l *leftover) covers(a addr.Run) bool {
	if core := l.place + placeCore; core <= a && a < core+maxCore {
		return true
	}
	return slices.ContainsFunc(l.islands, func(i addr.Run) bool { return i <= a && a < i+islandSize })
}

// mapped reports whether all that is mapped where the leftover was is what a probe maps.
func (l *leftover) mapped(maps []inferior.Mapping) bool {
	foreign := func(m inferior.Mapping) bool {
		return m.Low < l.place+placeSize && l.place < m.High && m.Path != "" && m.Path != "/memfd:"+memoryName
	}
	return !slices.ContainsFunc(maps, foreign) && !slices.ContainsFunc(l.islands, func(i addr.Run) bool {
		return !slices.ContainsFunc(maps, func(m inferior.Mapping) bool {
			return m.Low <= i && i+islandSize <= m.High && m.Path == "" && m.Perm == "r-xp"
		})
	})
}

// whole reports whether hdb had come so far that there could be code: the ring is mapped last.
func (l *leftover) whole(maps []inferior.Mapping) bool {
	ring := l.place + placeRing
	return slices.ContainsFunc(maps, func(m inferior.Mapping) bool {
		return m.Low <= ring && ring < m.High && m.Path == "/memfd:"+memoryName
	})
}

// inUse reports whether a thread may get to the leftover's code. All must be stopped.
func (l *leftover) inUse(p *inferior.Process) bool {
	jumps := func(entry addr.Run) bool {
		b := make([]byte, jumpSize)
		n, _ := p.ReadAt(b, int64(entry)) // its module may be gone
		to := entry + jumpSize + addr.Run(int32(binary.LittleEndian.Uint32(b[1:])))
		return n == jumpSize && b[0] == 0xe9 && l.covers(to)
	}
	slots := make([]byte, numSlots*slotSize)
	if _, err := p.ReadAt(slots, int64(l.place+placeFile+fileSlots)); err != nil {
		return true
	}
	return slices.ContainsFunc(l.entries, jumps) || slices.ContainsFunc(append(openCalls(slots), l.calls...), l.open(p)) ||
		p.MayReach(l.covers) || l.kept(p)
}

// returned is how far a thread's stack pointer is above a call at most if it is taken to
// have returned from it; further up may be another stack, a coroutine's.
const returned = 16 << 10

// open makes a function that reports whether a thread is still in a call: the probe's return
// address, which may outlast the call, is below the caller's.
func (l *leftover) open(p *inferior.Process) func(openCall) bool {
	return func(c openCall) bool {
		t := p.Thread(int(c.tid))
		if t == nil {
			return false
		}
		if regs, err := t.Regs(); err == nil && addr.Run(regs.Rsp) > c.sp && addr.Run(regs.Rsp) < c.sp+returned {
			return false
		}
		frame := make([]byte, 2*(frameSize+wideSize))
		n, _ := p.ReadAt(frame, int64(c.sp)-int64(len(frame))) // the stack may be gone
		return n == len(frame) && inferior.HasAddress(frame, l.covers)
	}
}

// openCalls are those that slots describe.
func openCalls(slots []byte) (all []openCall) {
	for ; len(slots) >= slotSize; slots = slots[slotSize:] {
		depth := min(binary.LittleEndian.Uint32(slots[slDepth:]), shadowDepth)
		for i := range int(depth) {
			if sp := binary.LittleEndian.Uint64(slots[slShadow+i*shadowSize+shSP:]); sp != 0 {
				all = append(all, openCall{binary.LittleEndian.Uint32(slots[slTID:]), addr.Run(sp)})
			}
		}
	}
	return all
}

// unmap takes the leftover out of the process. The card, which goes last, never describes an island
// that is gone: something else may be mapped there next.
func (l *leftover) unmap(p *inferior.Process, c *caller) error {
	for len(l.islands) > 0 {
		last := len(l.islands) - 1
		at := l.islands[last]
		l.islands = l.islands[:last]
		if _, err := p.WriteAt(l.card(), int64(l.place+placeCard)); err != nil {
			return err
		}
		if _, err := c.call("unmap code", unix.SYS_MUNMAP, uint64(at), islandSize); err != nil {
			return err
		}
	}
	_, err := c.call("unmap the probe's memory", unix.SYS_MUNMAP, uint64(l.place), placeSize)
	return err
}

// abandoned are the leftovers in a process to whose code no thread may get. All must be
// stopped.
func abandoned(p *inferior.Process, maps []inferior.Mapping) (all []*leftover) {
	card := make([]byte, cardSize)
	for _, m := range maps {
		if m.Low < placesLow || m.Low >= placesHigh || (m.Low-placesLow)%placeSize != placeCore {
			continue
		}
		if _, err := p.ReadAt(card, int64(m.Low+maxCore)); err != nil {
			continue
		}
		if l := readCard(m.Low-placeCore, card); l != nil && l.mapped(maps) && (!l.whole(maps) || !l.inUse(p)) {
			all = append(all, l)
		}
	}
	return all
}

// footprint is what the probe has mapped.
func (p *Probe) footprint() *leftover {
	l := &leftover{place: p.remote.state}
	for _, i := range p.islands.list {
		l.islands = append(l.islands, i.base)
	}
	for _, s := range p.siteTable.list {
		if s.entrance == 0 {
			for _, f := range s.patches() {
				l.entries = append(l.entries, f.entry)
			}
		}
	}
	for at, s := range p.siteTable.behind {
		l.pointers = append(l.pointers, exchanged{at, s.entrance})
	}
	l.pointers = append(l.pointers, p.freed.kept()...)
	for _, f := range p.finders.list {
		l.entries = append(l.entries, f.entry)
	}
	return l
}

// describe writes the card.
func (p *Probe) describe(l *leftover) error {
	_, err := p.proc.WriteAt(l.card(), int64(l.place+placeCard))
	return err
}

// leave unmaps what the probe has mapped in a process that continues, unless a thread may be
// inside: in one of the calls, for instance. All threads must be stopped.
func (p *Probe) leave(calls []openCall) (err error) {
	l := p.footprint()
	l.calls = calls
	if err := p.describe(l); err != nil {
		return err
	}
	at := slices.IndexFunc(p.proc.Threads(), func(t *inferior.Thread) bool { return !t.Confined() })
	if at < 0 || l.inUse(p.proc) {
		return nil
	}
	c := &caller{t: p.proc.Threads()[at]}
	if c.borrowed, err = c.t.Borrow(); err != nil {
		return err
	}
	err = l.unmap(p.proc, c)
	if err == nil && p.blocks.at != 0 {
		_, err = c.call("unmap the states of blocks", unix.SYS_MUNMAP, uint64(p.blocks.at), blocksSize)
	}
	return errors.Join(err, c.borrowed.Return())
}
