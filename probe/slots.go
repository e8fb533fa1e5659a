package probe

import (
	"bytes"
	"encoding/binary"
	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"
)

// slots are what the core keeps for each thread: its shadow stack and its count of
// events; and the cells by which conditions know threads. All of it is the owner's, but
// guests, which the reader reads under its lock: the owner, who alone writes it, does so
// under the lock and reads it without.
type slots struct {
	p       *Probe
	counted uint64                // unreported events of slots that were freed
	guests  map[uint32][]byte     // slots of threads whose vfork child uses them, by its TID
	cellOf  []uint64              // thread numbers that conditions name
	left    []breakpoints.Freeing // when the probe was disarmed,
	runs    uint64                // and how often threads had run by then
}

// idle empties all slots. The frees that threads are in are kept, as long as none of them runs.
func (ss *slots) idle(runs uint64) {
	ss.left, ss.runs = ss.freeing(), runs
	ss.forgetThreads()
}

// Freeing are the frees that threads were in when the probe was disarmed, until one of them runs.
func (ss *slots) Freeing() []breakpoints.Freeing {
	if ss.p.armed || !ss.still() {
		return nil
	}
	return ss.left
}

// still reports whether no thread has run since the probe was disarmed.
func (ss *slots) still() bool { return ss.runs == ss.p.proc.Runs() }

// forgetThreads empties all slots, and so the shadow stacks: what is called
// while the probe is off does not pass through it.
func (ss *slots) forgetThreads() {
	for _, slot := range ss.p.shared.slots() {
		ss.empty(slot)
	}
}

// empty gives a slot back, but for its count. The key goes last: a thread may
// take the slot from then on. It is not free as it was before, or threads that
// have passed it over on the way to their own slots would take it for a second.
func (ss *slots) empty(slot []byte) {
	key := binary.LittleEndian.Uint64(slot[slKey:])
	if key == slotLeft || key == 0 && binary.LittleEndian.Uint32(slot[slTID:]) == 0 {
		return
	}
	ss.counted += binary.LittleEndian.Uint64(slot[slEvents:])
	clear(slot[slKey+8:])
	if key != 0 {
		(*atomic.Uint64)(unsafe.Pointer(&slot[slKey])).Store(slotLeft)
	}
}

// Unreported is how many events since Inject were neither recorded nor offered, in all threads. One that was
// counted is taken off when the call around it, whose work it has been, returns.
func (ss *slots) Unreported() uint64 {
	if ss.p.closed {
		return ss.counted
	}
	sum := ss.counted
	for _, slot := range ss.p.shared.slots() {
		sum += binary.LittleEndian.Uint64(slot[slEvents:])
	}
	return sum
}

// ThreadExited gives the slot of a thread back. The calls it was in are forgotten
// when its records have been handled.
func (ss *slots) ThreadExited(tid int32) {
	ss.p.reader.noteExit(uint32(tid))
	for _, slot := range ss.p.shared.slots() {
		if binary.LittleEndian.Uint32(slot[slTID:]) == uint32(tid) {
			ss.empty(slot)
		}
	}
}

// Guest follows a vfork child, which runs in the inferior's memory with the
// thread-local storage of thread t, and so with its slot: what it does is not
// the inferior's doing. The slot is as it was when the child has left.
func (ss *slots) Guest(t, child int32, begins bool) {
	ss.p.reader.Exclusive(func() {
		if !begins {
			if i := ss.slotOf(uint32(child)); i >= 0 {
				saved := ss.guests[uint32(child)]
				if len(saved) == 0 { // the child has taken it: the thread had none
					saved = binary.LittleEndian.AppendUint64(nil, slotLeft)
					saved = append(saved, make([]byte, slotSize-len(saved))...)
				}
				copy(ss.p.shared.slot(i), saved)
			}
			delete(ss.guests, uint32(child))
			return
		}
		ss.p.share()
		ss.guests[uint32(child)] = []byte{}
		if i := ss.slotOf(uint32(t)); i >= 0 {
			slot := ss.p.shared.slot(i)
			ss.guests[uint32(child)] = bytes.Clone(slot)
			binary.LittleEndian.PutUint32(slot[slTID:], uint32(child))
		}
	})
}

// slotOf is the index of a thread's slot, -1 if it has none. The first thread may
// have left another behind, from before it had an FS base: a free one, whose key
// of 0 was its own at that time.
func (ss *slots) slotOf(tid uint32) int {
	for i, slot := range ss.p.shared.slots() {
		if binary.LittleEndian.Uint64(slot[slKey:]) != 0 && binary.LittleEndian.Uint32(slot[slTID:]) == tid {
			return i
		}
	}
	return -1
}

// freeing are the frees that threads may be in, by their slots.
func (ss *slots) freeing() (all []breakpoints.Freeing) {
	for _, slot := range ss.p.shared.slots() {
		word := func(at int) uint64 { return binary.LittleEndian.Uint64(slot[at:]) }
		last := ss.p.siteTable.byDesc[addr.Run(word(slFreedSite))]
		if word(slKey) <= slotLeft || word(slFreed) == 0 || last == nil {
			continue
		}
		f := breakpoints.Freeing{
			TID: int32(binary.LittleEndian.Uint32(slot[slTID:])), Block: word(slFreed),
			SP: addr.Run(word(slFreedSP)), Return: addr.Run(word(slFreedRet)), Sites: []addr.Run{last.Addr},
		}
		for _, s := range ss.p.siteTable.list {
			if s != last && s.Function.Frees() && word(slFreedDone)>>s.bit&1 != 0 {
				f.Sites = append(f.Sites, s.Addr)
			}
		}
		all = append(all, f)
	}
	return all
}

// follow has the core follow frees that threads are in. All threads are stopped.
func (ss *slots) follow(all []breakpoints.Freeing) {
	for _, f := range all {
		last := ss.p.siteTable.byEntry[f.Sites[0]]
		key := ss.keyOf(f.TID)
		if last == nil || key == 0 {
			continue
		}
		slot := ss.claim(key, uint32(f.TID))
		if slot == nil || binary.LittleEndian.Uint64(slot[slFreed:]) != 0 {
			continue
		}
		done := uint64(0)
		for _, a := range f.Sites {
			if s := ss.p.siteTable.byEntry[a]; s != nil {
				done |= 1 << s.bit
			}
		}
		put := binary.LittleEndian.PutUint64
		put(slot[slFreedSP:], uint64(f.SP))
		put(slot[slFreedRet:], uint64(f.Return))
		put(slot[slFreedDone:], done)
		put(slot[slFreedSite:], uint64(last.desc))
		put(slot[slFreed:], f.Block)
	}
}

// entered has the core know a thread as at the entry of a site's function, whose call was reported:
// what a free calls is its work. All threads are stopped.
func (ss *slots) entered(t *inferior.Thread, s *site) error {
	regs, err := t.Regs()
	if err != nil {
		return err
	}
	block, frees := s.Function.FreedBlock(regs)
	if !frees {
		return nil
	}
	back, err := addr.ReadWord(ss.p.proc, regs.SP())
	if err != nil {
		return err
	}
	ss.follow([]breakpoints.Freeing{{TID: int32(t.TID), Block: block, SP: regs.SP(), Return: addr.Run(back), Sites: []addr.Run{s.Addr}}})
	return nil
}

// keyOf is the FS base of a stopped thread, 0 if it has none.
func (ss *slots) keyOf(tid int32) uint64 {
	for _, t := range ss.p.proc.Threads() {
		if int32(t.TID) == tid {
			regs, _ := t.Regs() // killed, if this fails
			return regs.FsBase
		}
	}
	return 0
}

// claim is the slot of a key as the core finds it (core_nest_amd64.h), taken if the thread has none.
func (ss *slots) claim(key uint64, tid uint32) []byte {
	first := uint32(key) * (slotHash & math.MaxUint32) >> (32 - slotBits)
	var left []byte
	for n := range uint32(numSlots) {
		slot := ss.p.shared.slot(int((first + n) % numSlots))
		has := binary.LittleEndian.Uint64(slot[slKey:])
		if has == key {
			return slot
		}
		if left == nil && (has == 0 || has == slotLeft) {
			left = slot
		}
		if has == 0 {
			break
		}
	}
	if left != nil {
		binary.LittleEndian.PutUint32(left[slTID:], tid)
		binary.LittleEndian.PutUint64(left[slKey:], key)
	}
	return left
}

// threadCell is where the inferior finds the TID of the thread with a number.
func (ss *slots) threadCell(num uint64) (address uint64, ok bool) {
	i := slices.Index(ss.cellOf, num)
	if i < 0 {
		if len(ss.cellOf) == maxThreadCells {
			return 0, false
		}
		i = len(ss.cellOf)
		ss.cellOf = append(ss.cellOf, num)
		ss.setCell(i)
	}
	return uint64(ss.p.remote.file) + uint64(fileHeader+hdThreads+4*i), true
}

// ThreadsChanged brings the TIDs that conditions compare with up to date, and what the
// core does for threads alone. A new thread must not have run yet.
func (ss *slots) ThreadsChanged() {
	if len(ss.p.proc.Threads()) > 1 {
		ss.p.share()
	}
	for i := range ss.cellOf {
		ss.setCell(i)
	}
}

func (ss *slots) setCell(i int) {
	tid := uint32(0)
	for _, t := range ss.p.proc.Threads() {
		if uint64(t.Num) == ss.cellOf[i] {
			tid = uint32(t.TID)
		}
	}
	ss.p.shared.half(hdThreads + 4*i).Store(tid)
}
