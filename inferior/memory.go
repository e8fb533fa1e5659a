package inferior

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"

	"hdb/inferior/corefile"
	"hdb/internal/addr"
	"hdb/internal/procfs"

	"golang.org/x/sys/unix"
)

const int3 = 0xcc

// memory is an address space with code of ours in it, int3s and patches, which
// readers do not see. The lock lets any goroutine read while the owner plants
// or changes process.
type memory struct {
	mu     sync.RWMutex
	fd     int     // /proc/PID/mem, -1 when the process is gone
	pid    int     // the process's
	covers []cover // ascending
	table  *guardTable
	core   *corefile.File // what is read instead, nil while the process lives
}

// A cover is a byte that the processor sees otherwise than readers do.
type cover struct {
	at    addr.Run
	orig  byte // what readers see
	run   byte // what the processor runs, the int3 apart: orig, or the patch's
	trap  bool // an int3 is here
	patch *Patch
	slot  int // in the guard's table, -1 none
}

// open goes over to the address space that process pid has now. keep: it is
// the same one, with all that is in it.
func (m *memory) open(pid int, keep bool) error {
	fd, err := unix.Open(procfs.Path(pid, "mem"), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		fd = -1
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fd >= 0 {
		unix.Close(m.fd)
	}
	m.fd, m.pid = fd, pid
	if !keep {
		m.covers = nil
		m.table.clear()
	}
	if err != nil {
		return fmt.Errorf("memory of process %d: %w", pid, err)
	}
	return nil
}

func (m *memory) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fd >= 0 {
		unix.Close(m.fd)
	}
	m.fd = -1
}

// find is the index of the first cover at or above a.
func (m *memory) find(a addr.Run) (int, bool) {
	return slices.BinarySearchFunc(m.covers, a, func(c cover, a addr.Run) int { return cmp.Compare(c.at, a) })
}

// within are the covers in [a, a+n).
func (m *memory) within(a addr.Run, n int) []cover {
	i, _ := m.find(a)
	k := i
	for k < len(m.covers) && uint64(m.covers[k].at-a) < uint64(n) {
		k++
	}
	return m.covers[i:k]
}

// readAt is io.ReaderAt with the original bytes under our code.
func (m *memory) readAt(b []byte, off int64) (int, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.raw(b, off, false)
	for _, c := range m.within(addr.Run(off), n) {
		if !m.overwritten(c) {
			b[uint64(c.at)-uint64(off)] = c.orig
		}
	}
	return n, err
}

// overwritten reports whether a byte of a word that was patched is the program's again.
func (m *memory) overwritten(c cover) bool { return c.patch != nil && c.patch.word && !m.has(c.patch) }

// has reports whether memory has what a patch without a trap has written. The lock is held.
func (m *memory) has(pt *Patch) bool {
	now := make([]byte, len(pt.code))
	_, err := m.raw(now, int64(pt.at), false)
	return err == nil && bytes.Equal(now, pt.code)
}

// standing is has for who does not hold the lock.
func (m *memory) standing(pt *Patch) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.has(pt)
}

// readCode reads what the processor runs, the int3s apart: patches show.
func (m *memory) readCode(b []byte, off int64) (int, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.raw(b, off, false)
	for _, c := range m.within(addr.Run(off), n) {
		if !m.overwritten(c) {
			b[uint64(c.at)-uint64(off)] = c.run
		}
	}
	return n, err
}

// writeAt writes around our code: what is written there shows up when it is
// taken out.
func (m *memory) writeAt(b []byte, off int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	covers := m.within(addr.Run(off), len(b))
	if len(covers) > 0 {
		b = slices.Clone(b)
	}
	for i := range covers {
		c := &covers[i]
		if m.overwritten(*c) {
			continue
		}
		k := uint64(c.at) - uint64(off)
		c.orig = b[k]
		if c.patch == nil {
			c.run = c.orig
		}
		b[k] = c.run
		if c.trap {
			b[k] = int3
		}
		m.table.set(c)
	}
	return m.raw(b, off, true)
}

// raw moves bytes until all are moved or the memory ends.
func (m *memory) raw(b []byte, off int64, write bool) (int, error) {
	if m.core != nil {
		if write {
			return 0, &CoreError{m.core.Process.Signal}
		}
		return m.core.ReadAt(b, off)
	}
	verb, move := "read", unix.Pread
	if write {
		verb, move = "write", unix.Pwrite
	}
	if m.fd < 0 {
		return 0, fmt.Errorf("%s memory at %#x: %w", verb, uint64(off), ErrEnded)
	}
	n := 0
	if !write && len(b) >= fastRead {
		n = readFast(m.pid, b, off)
	}
	for n < len(b) {
		k, err := move(m.fd, b[n:], off+int64(n))
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EIO:
			return n, fmt.Errorf("%s memory at %#x: not mapped: %w", verb, uint64(off)+uint64(n), err)
		case err != nil:
			return n, fmt.Errorf("%s memory at %#x: %w", verb, uint64(off)+uint64(n), err)
		case k == 0:
			return n, fmt.Errorf("%s memory at %#x: %w: %w", verb, uint64(off)+uint64(n), ErrEnded, io.ErrUnexpectedEOF)
		}
		n += k
	}
	return len(b), nil
}

// poke writes one byte as it is, around the covers.
func (m *memory) poke(a addr.Run, b byte) error {
	m.mu.RLock()
	defer m.mu.RUnlock()
	_, err := m.raw([]byte{b}, int64(a), true)
	return err
}

// peek reads one byte as the processor sees it.
func (m *memory) peek(a addr.Run) (byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var b [1]byte
	_, err := m.raw(b[:], int64(a), false)
	return b[0], err
}

// plant puts an int3 at a.
func (m *memory) plant(a addr.Run) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, found := m.find(a)
	if !found {
		var b [1]byte
		if _, err := m.raw(b[:], int64(a), false); err != nil {
			return err
		}
		m.covers = slices.Insert(m.covers, i, cover{at: a, orig: b[0], run: b[0], slot: m.table.take()})
	}
	c := &m.covers[i]
	if c.trap {
		return nil
	}
	c.trap = true
	m.table.set(c) // first: hdb may be killed between the two
	if _, err := m.raw([]byte{int3}, int64(a), true); err != nil {
		m.uncover(i)
		return err
	}
	return nil
}

// lift takes the int3 at a away and returns what readers see there. Memory that is
// unmapped meanwhile, or mapped anew with other bytes, is left alone.
func (m *memory) lift(a addr.Run) (orig byte, lifted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, found := m.find(a)
	if !found || !m.covers[i].trap {
		return 0, false
	}
	orig = m.covers[i].orig
	var b [1]byte
	if _, err := m.raw(b[:], int64(a), false); err == nil && b[0] == int3 {
		// An error here means that the page went away after all.
		_, _ = m.raw([]byte{m.covers[i].run}, int64(a), true)
	}
	m.uncover(i)
	return orig, true
}

// uncover notes that the int3 of a cover is gone.
func (m *memory) uncover(i int) {
	c := &m.covers[i]
	c.trap = false
	if c.patch != nil {
		m.table.set(c)
		return
	}
	m.table.drop(c.slot)
	m.covers = slices.Delete(m.covers, i, i+1)
}

// patch writes the code of pt over what is there.
func (m *memory) patch(pt *Patch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	code := slices.Clone(pt.code)
	orig := make([]byte, len(code))
	if _, err := m.raw(orig, int64(pt.at), false); err != nil {
		return err
	}
	trap := cover{slot: -1}
	for _, c := range m.within(pt.at, len(code)) {
		if c.patch != nil || c.at != pt.at {
			return &PatchedError{c.at, c.patch}
		}
		trap, orig[0], code[0] = c, c.orig, int3
	}
	i, found := m.find(pt.at)
	if found {
		m.covers = slices.Delete(m.covers, i, i+1)
	}
	for k := range code {
		c := cover{at: pt.at + addr.Run(k), orig: orig[k], run: pt.code[k], patch: pt, slot: -1}
		if k == 0 {
			c.trap, c.slot = trap.trap, trap.slot
		}
		if c.slot < 0 {
			c.slot = m.table.take()
		}
		m.table.set(&c)
		m.covers = slices.Insert(m.covers, i+k, c)
	}
	if _, err := m.raw(code, int64(pt.at), true); err != nil {
		m.unpatchLocked(pt)
		return err
	}
	return nil
}

// unpatch puts the original bytes back where all of pt is still in place. It returns them, and
// whether it did.
func (m *memory) unpatch(pt *Patch) (orig []byte, restored bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unpatchLocked(pt)
}

func (m *memory) unpatchLocked(pt *Patch) (orig []byte, restored bool) {
	i, found := m.find(pt.at)
	if !found || m.covers[i].patch != pt {
		return nil, false
	}
	covers := m.covers[i : i+len(pt.code)]
	now := make([]byte, len(covers))
	_, err := m.raw(now, int64(pt.at), false)
	restored = err == nil
	back := make([]byte, len(covers))
	for k, c := range covers {
		orig = append(orig, c.orig)
		back[k] = c.orig
		if c.trap && now[k] == int3 {
			back[k] = int3
			continue
		}
		restored = restored && now[k] == c.run
	}
	if restored {
		_, err = m.raw(back, int64(pt.at), true)
		restored = err == nil
	}
	for k := range covers {
		covers[k].run, covers[k].patch = orig[k], nil
		if covers[k].trap {
			m.table.set(&covers[k])
		} else {
			m.table.drop(covers[k].slot)
		}
	}
	m.covers = slices.DeleteFunc(m.covers, func(c cover) bool { return c.patch == nil && !c.trap })
	return orig, restored
}

// restore takes out all int3s and patches.
func (m *memory) restore() {
	for _, c := range slices.Clone(m.covers) { // the owner alone changes them
		if c.patch != nil && c.patch.at == c.at {
			m.unpatch(c.patch)
		}
		if c.trap {
			m.lift(c.at)
		}
	}
}

// original is what readers see where pt is.
func (m *memory) original(pt *Patch) []byte {
	var orig []byte
	for _, c := range m.within(pt.at, len(pt.code)) {
		orig = append(orig, c.orig)
	}
	return orig
}

// patchOver is the patch whose code covers a, or nil.
func (m *memory) patchOver(a addr.Run) *Patch {
	if i, found := m.find(a); found {
		return m.covers[i].patch
	}
	return nil
}

// ReadAt reads the inferior's memory, with the original bytes where traps are
// planted. It implements io.ReaderAt over the address space: n bytes were
// read before an error. Any goroutine may call it.
func (m *memory) ReadAt(b []byte, off int64) (int, error) { return m.readAt(b, off) }

// fastRead is a length from which on process_vm_readv(2) is worth a call of its own: it reads
// half as fast again as /proc/PID/mem, but nothing that the process itself may not read.
const fastRead = 64 << 10

// readFast reads as much as it can so.
func readFast(pid int, b []byte, off int64) int {
	local := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	n, err := unix.ProcessVMReadv(pid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(off), Len: len(b)}}, 0)
	if err != nil {
		return 0
	}
	return max(n, 0)
}
