package inferior

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

const int3 = 0xcc

// memory is an address space with our int3s in it, which readers do not see.
// The lock lets any goroutine read while the owner plants or changes process.
type memory struct {
	mu      sync.RWMutex
	fd      int     // /proc/PID/mem, -1 when the process is gone
	patches []patch // ascending
}

type patch struct {
	at   addr.Run
	orig byte
}

// open goes over to the address space that process pid has now, without patches.
func (m *memory) open(pid int) error {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/mem", pid), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		fd = -1
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fd >= 0 {
		unix.Close(m.fd)
	}
	m.fd, m.patches = fd, nil
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

// find is the index of the first patch at or above a.
func (m *memory) find(a addr.Run) (int, bool) {
	return slices.BinarySearchFunc(m.patches, a, func(p patch, a addr.Run) int {
		switch {
		case p.at < a:
			return -1
		case p.at > a:
			return 1
		}
		return 0
	})
}

// readAt is io.ReaderAt with the original bytes under our int3s.
func (m *memory) readAt(b []byte, off int64) (int, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.raw(b, off, false)
	if len(m.patches) > 0 {
		i, _ := m.find(addr.Run(off))
		for ; i < len(m.patches) && uint64(m.patches[i].at)-uint64(off) < uint64(n); i++ {
			b[uint64(m.patches[i].at)-uint64(off)] = m.patches[i].orig
		}
	}
	return n, err
}

// writeAt writes around our int3s: what is written there shows up when they
// are lifted.
func (m *memory) writeAt(b []byte, off int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, _ := m.find(addr.Run(off))
	if i == len(m.patches) || uint64(m.patches[i].at)-uint64(off) >= uint64(len(b)) {
		return m.raw(b, off, true)
	}
	b = slices.Clone(b)
	for ; i < len(m.patches) && uint64(m.patches[i].at)-uint64(off) < uint64(len(b)); i++ {
		k := uint64(m.patches[i].at) - uint64(off)
		m.patches[i].orig, b[k] = b[k], int3
	}
	return m.raw(b, off, true)
}

// raw moves bytes until all are moved or the memory ends.
func (m *memory) raw(b []byte, off int64, write bool) (int, error) {
	verb, move := "read", unix.Pread
	if write {
		verb, move = "write", unix.Pwrite
	}
	if m.fd < 0 {
		return 0, fmt.Errorf("%s memory at %#x: the process has ended", verb, uint64(off))
	}
	for n := 0; n < len(b); {
		k, err := move(m.fd, b[n:], off+int64(n))
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EIO:
			return n, fmt.Errorf("%s memory at %#x: not mapped: %w", verb, uint64(off)+uint64(n), err)
		case err != nil:
			return n, fmt.Errorf("%s memory at %#x: %w", verb, uint64(off)+uint64(n), err)
		case k == 0:
			return n, fmt.Errorf("%s memory at %#x: the process has ended: %w", verb, uint64(off)+uint64(n), io.ErrUnexpectedEOF)
		}
		n += k
	}
	return len(b), nil
}

// poke writes one byte as it is, unseen by the patches.
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
	if found {
		return nil
	}
	var b [1]byte
	if _, err := m.raw(b[:], int64(a), false); err != nil {
		return err
	}
	if _, err := m.raw([]byte{int3}, int64(a), true); err != nil {
		return err
	}
	m.patches = slices.Insert(m.patches, i, patch{a, b[0]})
	return nil
}

// adopt enters an int3 that stands in the memory already.
func (m *memory) adopt(a addr.Run, orig byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i, found := m.find(a); !found {
		m.patches = slices.Insert(m.patches, i, patch{a, orig})
	}
}

// lift takes the int3 at a away. Memory that is unmapped meanwhile, or mapped
// anew with other bytes, is left alone.
func (m *memory) lift(a addr.Run) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, found := m.find(a)
	if !found {
		return
	}
	var b [1]byte
	if _, err := m.raw(b[:], int64(a), false); err == nil && b[0] == int3 {
		// An error here means that the page went away after all.
		_, _ = m.raw([]byte{m.patches[i].orig}, int64(a), true)
	}
	m.patches = slices.Delete(m.patches, i, i+1)
}

// ReadAt reads the inferior's memory, with the original bytes where traps are
// planted. It implements io.ReaderAt over the address space: n bytes were
// read before an error. Any goroutine may call it.
func (p *Process) ReadAt(b []byte, off int64) (int, error) { return p.mem.readAt(b, off) }

// WriteAt writes the inferior's memory, read-only pages included. Traps stay
// planted; they show the bytes written when they are removed.
func (p *Process) WriteAt(b []byte, off int64) (int, error) {
	p.check()
	n, err := p.mem.writeAt(b, off)
	for _, s := range p.sites {
		if uint64(s.addr)+uint64(len(s.code)) > uint64(off) && uint64(s.addr) < uint64(off)+uint64(len(b)) {
			s.decode(p)
		}
	}
	return n, err
}
