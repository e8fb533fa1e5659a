package probe

import (
	"errors"
	"fmt"
	"slices"

	"hdb/inferior"
	"hdb/inferior/machine"
	"hdb/internal/addr"
	"hdb/internal/procfs"

	"golang.org/x/sys/unix"
)

// remote is where things are in the inferior.
type remote struct {
	state addr.Run // the state page and the scratch memory
	file  addr.Run // the memory file except the ring
	ring  addr.Run
	core  addr.Run
}

const (
	privateScratch = stateSize
	privateSize    = privateScratch + numSlots*scratchSize

	mapPrivate = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE
)

// A caller makes system calls in the inferior and remembers what to undo.
type caller struct {
	t        *inferior.Thread
	borrowed *inferior.Borrowed // while there are several to make
	undo     []func()
}

func (c *caller) call(what string, nr uint64, args ...uint64) (uint64, error) {
	call := c.t.Syscall
	if c.borrowed != nil {
		call = c.borrowed.Syscall
	}
	v, err := call(nr, args...)
	if err != nil {
		return 0, fmt.Errorf("%s in the process: %w", what, err)
	}
	return v, nil
}

// mmap maps memory in the inferior; it is unmapped again by undo.
func (c *caller) mmap(what string, at, size uint64, prot, flags int, fd, offset uint64) (addr.Run, error) {
	v, err := c.call("map "+what, unix.SYS_MMAP, at, size, uint64(prot), uint64(flags), fd, offset)
	if err == nil && flags&unix.MAP_FIXED == 0 {
		c.undo = append(c.undo, func() { _, _ = c.call("", unix.SYS_MUNMAP, v, size) })
	}
	return addr.Run(v), err
}

// back undoes all in reverse. What cannot be undone stays unused.
func (c *caller) back() {
	for i := len(c.undo) - 1; i >= 0; i-- {
		c.undo[i]()
	}
}

const noFD = ^uint64(0)

// memoryName is the name of the memory file in /proc/PID/maps.
const memoryName = "hdb probe"

var errConfined = errors.New("the process has a seccomp filter, which may kill it for the probe's system calls")

// mapAll makes the memory that both share, where no probe before it may be in use.
func mapAll(p *inferior.Process, c *caller, size uint64) (r remote, s *shared, err error) {
	maps, err := p.Maps()
	if err != nil {
		return r, nil, err
	}
	old := abandoned(p, maps)
	if c.borrowed, err = c.t.Borrow(); err != nil {
		return r, nil, err
	}
	defer func() {
		err = errors.Join(err, c.borrowed.Return())
		c.borrowed = nil
	}()
	for _, l := range old {
		if err := l.unmap(p, c); err != nil {
			return r, nil, err
		}
	}
	if maps, err = p.Maps(); err != nil {
		return r, nil, err
	}
	if !slices.ContainsFunc(maps, func(m inferior.Mapping) bool { return m.Path == "/memfd:"+memoryName }) {
		if err := unmapBlocks(p, c); err != nil {
			return r, nil, err
		}
	}
	place, err := freePlace(maps)
	if err != nil {
		return r, nil, err
	}
	return mapPlace(p, c, place, size)
}

// mapPlace maps all that is in the place. The card comes first: if hdb is killed behind it, the
// next one finds what there is.
func mapPlace(p *inferior.Process, c *caller, place addr.Run, size uint64) (r remote, s *shared, err error) {
	const rw = unix.PROT_READ | unix.PROT_WRITE
	at := uint64(place)
	if r.core, err = c.mmap("the probe's code", at+placeCore, maxCore+cardSize, unix.PROT_READ|unix.PROT_EXEC, mapPrivate, noFD, 0); err != nil {
		return r, nil, err
	}
	if _, err = p.WriteAt((&leftover{place: place}).card(), int64(place+placeCard)); err != nil {
		return r, nil, err
	}
	if r.state, err = c.mmap("the probe's state", at, privateSize, rw, mapPrivate, noFD, 0); err != nil {
		return r, nil, err
	}
	// A fork child finds its copy empty, and so the probe disabled.
	if _, err = c.call("MADV_WIPEONFORK", unix.SYS_MADVISE, uint64(r.state), privateSize, unix.MADV_WIPEONFORK); err != nil {
		return r, nil, err
	}
	if _, err = p.WriteAt([]byte(memoryName+"\x00"), int64(r.state)); err != nil {
		return r, nil, err
	}
	fd, err := c.borrowed.Open(unix.SYS_MEMFD_CREATE, uint64(r.state), memfdFlags)
	if err != nil {
		return r, nil, fmt.Errorf("memfd_create in the process: %w", err)
	}
	defer func() {
		if e := c.borrowed.Close(); err == nil {
			err = e
		}
	}()
	if s, err = mapShared(p.PID(), int(fd), size); err != nil {
		return r, nil, err
	}
	c.undo = append(c.undo, s.close)
	if r.file, err = c.mmap("the probe's tables", at+placeFile, fileRing, unix.PROT_READ, unix.MAP_SHARED, fd, 0); err != nil {
		return r, nil, err
	}
	if _, err = c.call("mprotect", unix.SYS_MPROTECT, uint64(r.file), fileRules, rw); err != nil {
		return r, nil, err
	}
	if r.ring, err = c.mmap("the probe's ring", at+placeRing, 2*size, unix.PROT_NONE, mapPrivate, noFD, 0); err != nil {
		return r, nil, err
	}
	for half := uint64(0); half < 2; half++ {
		if _, err = c.mmap("the probe's ring", uint64(r.ring)+half*size, size, rw, unix.MAP_SHARED|unix.MAP_FIXED, fd, fileRing); err != nil {
			return r, nil, err
		}
	}
	// In a core file they would be 200 MiB that are never read, and writing one would create them.
	for _, of := range []struct {
		at   addr.Run
		size uint64
	}{{r.file, fileRing}, {r.ring, 2 * size}} {
		if _, err = c.call("MADV_DONTDUMP", unix.SYS_MADVISE, uint64(of.at), of.size, unix.MADV_DONTDUMP); err != nil {
			return r, nil, err
		}
	}
	return r, s, nil
}

// refusal says why a process must not be probed, before anything is done to it. locks is as in Config.
func refusal(p *inferior.Process, ring uint64, locks bool) error {
	if slices.ContainsFunc(p.Threads(), (*inferior.Thread).Confined) {
		return errConfined
	}
	all := fileRing + 2*ring + privateSize
	for _, l := range []struct {
		resource int
		what     string
		take     uint64
		matters  bool
	}{
		{unix.RLIMIT_AS, "the address space of the process is limited to %d KiB (RLIMIT_AS, ulimit -v)", all, true},
		{unix.RLIMIT_DATA, "the data of the process is limited to %d KiB (RLIMIT_DATA, ulimit -d)", privateSize, true},
		{unix.RLIMIT_MEMLOCK, "the locked memory of the process is limited to %d KiB (RLIMIT_MEMLOCK, ulimit -l)", all, locks && !procfs.MayLockAll(p.PID())},
	} {
		var limit unix.Rlimit
		if err := unix.Prlimit(p.PID(), l.resource, nil, &limit); err == nil && l.matters && limit.Cur != unix.RLIM_INFINITY {
			return fmt.Errorf(l.what+", of which the probe would take %d MiB, so that the program's own calls might fail", limit.Cur>>10, l.take>>20)
		}
	}
	return nil
}

// hasFSGSBase reports whether the machine and p let programs use rdfsbase.
func hasFSGSBase(p *inferior.Process) bool {
	aux, err := p.Auxv()
	return err == nil && aux[machine.AtHWCAP2]&machine.HWCAP2FSGSBase != 0 && machine.Has(machine.FSGSBase)
}
