package inferior

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"hdb/inferior/corefile"
	"hdb/internal/addr"
	"hdb/internal/procfs"
)

// CoreImage is the stopped target in the form of a core file, with first before the other threads.
// It has the program's own code in place of int3s and patches. The target's coredump_filter and
// madvise(2) decide which memory is in it, as they do for the kernel (core(5)); mappings for which
// ours holds are hdb's own, and not in it.
func (p *Process) CoreImage(first *Thread, ours func(Mapping) bool) (*corefile.Image, error) {
	if err := p.Alive(); err != nil {
		return nil, err
	}
	tg := p.target
	im := &corefile.Image{Process: corefile.Process{PID: tg.pid}}
	var err error
	if im.Auxv, err = readAuxv(tg.pid); err != nil {
		return nil, err
	}
	threads := slices.DeleteFunc(tg.Threads(), func(t *Thread) bool { return t == first })
	if first != nil {
		threads = append([]*Thread{first}, threads...)
	}
	for _, t := range threads {
		c, err := t.coreThread()
		if err != nil {
			return nil, err
		}
		im.Threads = append(im.Threads, c)
	}
	im.Process.Signal = im.Threads[0].Signal
	fillInfo(im, tg.pid)
	maps, err := dumpable(tg.pid)
	if err != nil {
		return nil, err
	}
	im.Memory = &p.memory
	if pages, err := os.Open(procfs.Path(tg.pid, "pagemap")); err == nil { // else all is read
		im.Untouched, im.Close = untouched(pages, maps), pages.Close
	}
	filter := dumpFilter(tg.pid)
	for _, m := range maps {
		if m.Path == "[vsyscall]" || p.handler.owns(m.Mapping) || ours != nil && ours(m.Mapping) {
			continue
		}
		r := corefile.Region{Low: m.Low, High: m.High, Flags: m.flags(), Stored: p.memory.stored(&m, filter)}
		if m.Inode != 0 {
			r.File, r.Offset = m.Path, m.Offset
			if m.Deleted {
				r.File += " (deleted)"
			}
		}
		im.Regions = append(im.Regions, r)
	}
	return im, nil
}

// coreThread is what a core file has of a thread.
func (t *Thread) coreThread() (c corefile.Thread, err error) {
	r, err := t.Regs()
	if err != nil {
		return c, err
	}
	c = corefile.Thread{TID: t.TID, Regs: r.Bytes(), Siginfo: t.SignalInfo()}
	if c.Siginfo != nil {
		c.Signal = t.PendingSignal()
	}
	if v, err := t.Vectors(); err == nil {
		c.Xstate, c.FP = v.Area(), v.Area()[:512]
	}
	for name, to := range map[string]*uint64{"SigPnd": &c.Pending, "SigBlk": &c.Blocked} {
		if s, ok := procfs.Status(t.TID, name); ok {
			*to, _ = strconv.ParseUint(s, 16, 64) // which the kernel has written
		}
	}
	return c, nil
}

// fillInfo fills in what NT_PRPSINFO tells, as far as /proc does (proc(5)).
func fillInfo(im *corefile.Image, pid int) {
	number := func(fields []string, i int) int {
		if i >= len(fields) {
			return 0
		}
		n, _ := strconv.Atoi(fields[i]) // which the kernel has written
		return n
	}
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil {
		// Behind the command, which may have blanks in it: state, parent, group, session.
		fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
		im.Parent, im.Group, im.Session = number(fields, 1), number(fields, 2), number(fields, 3)
	}
	uids, _ := procfs.Status(pid, "Uid")
	gids, _ := procfs.Status(pid, "Gid")
	im.UID, im.GID = number(strings.Fields(uids), 0), number(strings.Fields(gids), 0)
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil {
		im.Process.Command = strings.TrimSuffix(string(b), "\n")
	}
	if b, err := os.ReadFile(procfs.Path(pid, "cmdline")); err == nil {
		im.Process.Args = strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " "))
	}
}

// A dumpMapping is a mapping with what decides whether it goes into a core.
type dumpMapping struct {
	Mapping
	vmFlags string // of VmFlags in /proc/PID/smaps, with a blank before and behind each
	own     bool   // it has pages that are in no file
}

func (m *dumpMapping) has(flag string) bool { return strings.Contains(m.vmFlags, " "+flag+" ") }

func (m *dumpMapping) flags() (f elf.ProgFlag) {
	for i, bit := range []elf.ProgFlag{elf.PF_R, elf.PF_W, elf.PF_X} {
		if m.Perm[i] != '-' {
			f |= bit
		}
	}
	return f
}

// dumpable reads /proc/PID/smaps.
func dumpable(pid int) ([]dumpMapping, error) {
	b, err := os.ReadFile(procfs.Path(pid, "smaps"))
	if err != nil {
		return nil, fmt.Errorf("maps of process %d: %w", pid, err)
	}
	var all []dumpMapping
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		switch {
		case strings.Contains(name, "-"):
			m, err := parseMapping(line)
			if err != nil {
				return nil, err
			}
			all = append(all, dumpMapping{Mapping: m})
		case len(all) == 0:
		case name == "Anonymous" || name == "Swap":
			if fields := strings.Fields(value); len(fields) > 0 && fields[0] != "0" {
				all[len(all)-1].own = true
			}
		case name == "VmFlags":
			all[len(all)-1].vmFlags = value + " "
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("maps of process %d: no memory: %w", pid, ErrEnded)
	}
	return all, nil
}

// Bits of coredump_filter (core(5)).
const (
	dumpAnonPrivate = 1 << iota
	dumpAnonShared
	dumpFilePrivate
	dumpFileShared
	dumpELFHeaders
	dumpHugePrivate
	dumpHugeShared
	dumpDefault = dumpAnonPrivate | dumpAnonShared | dumpELFHeaders | dumpHugePrivate
)

func dumpFilter(pid int) uint64 {
	b, err := os.ReadFile(procfs.Path(pid, "coredump_filter"))
	if err != nil {
		return dumpDefault
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 16, 64)
	if err != nil {
		return dumpDefault
	}
	return n
}

// stored is how many bytes of a mapping go into a core: vma_dump_size of the kernel's
// fs/coredump.c. Of the mappings of the kernel's own only the vDSO can be read.
func (m *memory) stored(d *dumpMapping, filter uint64) uint64 {
	whole := func(bit uint64) uint64 {
		if filter&bit == 0 {
			return 0
		}
		return uint64(d.High - d.Low)
	}
	shared := d.Perm[3] == 's'
	switch {
	case d.Path == "[vdso]":
		return uint64(d.High - d.Low)
	case d.has("dd") || strings.HasPrefix(d.Path, "[vvar"):
		return 0
	case d.has("ht") && shared:
		return whole(dumpHugeShared)
	case d.has("ht"):
		return whole(dumpHugePrivate)
	case d.has("io"):
		return 0
	case shared && d.Deleted:
		return whole(dumpAnonShared)
	case shared:
		return whole(dumpFileShared)
	case d.own && filter&dumpAnonPrivate != 0:
		return uint64(d.High - d.Low)
	case d.Inode == 0:
		return 0
	case filter&dumpFilePrivate != 0:
		return uint64(d.High - d.Low)
	case filter&dumpELFHeaders != 0 && d.Offset == 0 && d.Perm[0] == 'r':
		var magic [4]byte
		if _, err := m.readAt(magic[:], int64(d.Low)); err == nil && (d.Perm[2] == 'x' || string(magic[:]) == elf.ELFMAG) {
			return pageSize
		}
	}
	return 0
}

// untouched reports for anonymous memory, by /proc/PID/pagemap (its 62nd and 63rd bits), that none of
// its pages is in memory or in the swap: then all are zeros.
func untouched(pages *os.File, maps []dumpMapping) func(a addr.Run, n uint64) bool {
	return func(a addr.Run, n uint64) bool {
		i, ok := slices.BinarySearchFunc(maps, a, func(m dumpMapping, a addr.Run) int { return addr.Compare(m.Low, m.High, a) })
		if !ok || maps[i].Inode != 0 || maps[i].Path == "[vdso]" || n > uint64(maps[i].High-a) {
			return false
		}
		entries := make([]byte, 8*((n+pageSize-1)/pageSize))
		if _, err := pages.ReadAt(entries, int64(uint64(a)/pageSize*8)); err != nil {
			return false
		}
		for ; len(entries) > 0; entries = entries[8:] {
			if entries[7]&0xc0 != 0 {
				return false
			}
		}
		return true
	}
}
