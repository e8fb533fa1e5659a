package probe

import (
	"bytes"
	"encoding/binary"
	"errors"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/unwind"

	"golang.org/x/sys/unix"
)

// Inject puts the probe's memory and core into the process of t, which must be
// stopped. No function is changed before Arm. An error says why the process
// cannot be probed; it is as it was then.
func Inject(p *inferior.Process, t *inferior.Thread, cfg Config) (*Probe, error) {
	size := uint64(ringSize)
	if cfg.Large {
		size = largeRing
	}
	if err := refusal(p, size, cfg.Locks); err != nil {
		return nil, err
	}
	if p.ShadowStack() {
		return nil, errors.New("the processor guards the program's return addresses (shadow stack)")
	}
	pr := newProbe(p, cfg)
	pr.fsgsbase = hasFSGSBase(p)
	c := &caller{t: t}
	if err := pr.inject(c, size); err != nil {
		c.back()
		return nil, err
	}
	pr.reader.start()
	return pr, nil
}

func (p *Probe) inject(c *caller, size uint64) (err error) {
	if p.remote, p.shared, err = mapAll(p.proc, c, size); err != nil {
		return err
	}
	if p.core, err = loadCore(p.remote.state); err != nil {
		return err
	}
	if p.frames, err = p.core.trace(); err != nil {
		return err
	}
	code := bytes.Clone(p.core.code)
	if p.alone = p.proc.Alone(); p.alone {
		for _, at := range p.core.alone() {
			code[at] = noPrefix
		}
	}
	if _, err = p.proc.WriteAt(code, int64(p.remote.core)); err != nil {
		return err
	}
	if p.tables, err = newTables(p.shared, p.remote.file); err != nil {
		return err
	}
	p.tables.cache = p.cfg.Cache
	p.coreRows = ownTable{p.frames.table(p.tables.rules), p.remote.core + addr.Run(len(p.core.code))}
	p.coreRows.table.Low = p.remote.core.File(0)
	if err = p.coreFDE(); err != nil {
		return err
	}
	if err = p.matcher.plantGate(c); err != nil {
		return err
	}
	keep().hold(p.shared)
	c.undo = append(c.undo, func() { keep().release(p.shared) })
	if err := p.describe(p.footprint()); err != nil {
		return err
	}
	if err := p.writeState(); err != nil {
		return err
	}
	return p.Quieten(p.proc.Outlives())
}

// plantGate makes the engine listen to threads that offer matches, or ask for their TIDs.
func (m *matcher) plantGate(c *caller) error {
	m.signal = offerSignal(m.p.proc)
	m.gate = m.p.proc.PlantGate(m.at(markGate), m.at(markGateEnd), m.signal, m.match)
	c.undo = append(c.undo, func() { _ = m.remove() }) // its memory is unmapped next
	for _, at := range []struct {
		mark uint32
		h    inferior.Handler
	}{{markTrap, m.match}, {markAsk, m.tell}, {markAskAgain, m.tell}} {
		if err := m.plant(m.at(at.mark), at.h); err != nil {
			return err
		}
	}
	return nil
}

// plant puts a trap into the probe's own code.
func (m *matcher) plant(at addr.Run, h inferior.Handler) error {
	trap, err := m.p.proc.Plant(at, h)
	if err == nil {
		trap.ForGuests()
		m.traps = append(m.traps, trap)
	}
	return err
}

// remove ends that.
func (m *matcher) remove() error {
	errs := []error{m.gate.Remove()}
	for _, t := range m.traps {
		errs = append(errs, t.Remove())
	}
	return errors.Join(errs...)
}

// offerSignal is what a thread sends itself to offer a match: a signal that is ignored
// unless the process handles it, of which it therefore takes one that the process
// does not.
func offerSignal(p *inferior.Process) int {
	for _, n := range []unix.Signal{unix.SIGURG, unix.SIGWINCH} {
		if !p.Handles(int(n)) {
			return int(n)
		}
	}
	return int(unix.SIGURG)
}

// share has the producers take turns, before a second one can run. The first is in the
// system call that makes it.
func (p *Probe) share() {
	if !p.alone {
		return
	}
	for _, at := range p.core.alone() {
		if _, err := p.proc.WriteAt([]byte{lockPrefix}, int64(p.remote.core)+int64(at)); err != nil {
			p.message("probe: %v", err)
			return // the next new thread is another chance
		}
	}
	p.alone = false
}

// coreFDE writes the core's unwinding information behind it.
func (p *Probe) coreFDE() error {
	low, size := p.remote.core, len(p.core.code)
	section, fde := p.frames.ehFrame(low, size)
	at := low + addr.Run(size+15)&^15
	if at+addr.Run(len(section)) > low+maxCore {
		return errors.New("probe: no room for the core's CFI")
	}
	if _, err := p.proc.WriteAt(section, int64(at)); err != nil {
		return err
	}
	p.islands.framed = append(p.islands.framed, framed{low, low + addr.Run(size), at + addr.Run(fde)})
	var err error
	p.coreCFI, err = unwind.NewTable(unwind.Sections{Name: "[hdb probe]", EhFrame: section, EhFrameAddr: addr.File(at)})
	return err
}

// writeState fills in what does not change.
func (p *Probe) writeState() error {
	b := make([]byte, stateSize)
	put := func(at int, v uint64) { binary.LittleEndian.PutUint64(b[at:], v) }
	put(stHeader, uint64(p.remote.file)+fileHeader)
	put(stRing, uint64(p.remote.ring))
	put(stRoom, p.shared.size-ringSpare)
	put(stMask, p.shared.size-1)
	put(stStacks, uint64(p.remote.file)+fileStacks)
	put(stSlots, uint64(p.remote.file)+fileSlots)
	put(stScratch, uint64(p.remote.state)+privateScratch)
	put(stVerdicts, uint64(p.remote.file)+fileVerdicts)
	put(stReturn, uint64(p.remote.core)+uint64(p.core.marks[markReturn]))
	put(stReturnWide, uint64(p.remote.core)+uint64(p.core.marks[markReturnWide]))
	put(stSums, uint64(p.remote.core)+uint64(p.core.sums()))
	put(stSignal, uint64(p.matcher.signal))
	put(stSignalSet, signalSet(p.matcher.signal))
	put(stPairs, uint64(p.remote.file)+filePairs)
	put(stPySeen, uint64(p.remote.file)+fileSeen)
	put(stGoTypes, uint64(p.remote.file)+fileTypes)
	put(stPyCodes, uint64(p.remote.file)+fileCodes)
	put(stDepth, uint64(min(max(p.cfg.MaxDepth, minDepth), maxDepth)))
	copy(b[stFactors:], factors())
	_, err := p.proc.WriteAt(b, int64(p.remote.state))
	return err
}

// poke writes one word of the state page.
func (p *Probe) poke(at int, v uint64) error {
	_, err := p.proc.WriteAt(binary.LittleEndian.AppendUint64(nil, v), int64(p.remote.state)+int64(at))
	return err
}

// publish makes the walker see the modules and the probe's own code.
func (p *Probe) publish(fresh bool) error {
	own := []ownTable{p.coreRows}
	for _, i := range p.islands.list {
		own = append(own, ownTable{i.table(), i.base + addr.Run(i.used)})
	}
	if err := p.tables.setOwn(own); err != nil {
		return err
	}
	ptr, err := p.tables.publish(fresh)
	if err != nil {
		return err
	}
	// A thread that reads in between finds old tables that are whole, or new
	// ones: entries of the list that are not in use cover nothing.
	for _, w := range []struct {
		at int
		v  uint64
	}{{stRules, ptr.rules}, {stModules, ptr.modules}, {stNumMods, ptr.count}, {stCache, ptr.cache}, {stMemo, ptr.memo}} {
		if err := p.poke(w.at, w.v); err != nil {
			return err
		}
	}
	return nil
}
