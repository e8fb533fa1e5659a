package corefile

import (
	"bytes"
	"cmp"
	"debug/elf"
	"slices"

	"hdb/internal/addr"
)

// Keys of the auxiliary vector (getauxval(3)).
const (
	atPHdr    = 3
	atPHNum   = 5
	atExecFn  = 31
	atSysinfo = 33 // AT_SYSINFO_EHDR, where the vDSO is
)

// vsyscall is where the kernel maps its page of old system calls in every process
// (VSYSCALL_ADDR in asm/vsyscall.h).
const vsyscall = addr.Run(0xffffffffff600000)

// maxVDSO bounds the vDSO, which is two pages.
const maxVDSO = 1 << 20

// A Mapping is a range of memory that the process had.
type Mapping struct {
	Low, High addr.Run
	Flags     elf.ProgFlag
	Offset    uint64 // into the file, bytes
	Name      string // of the file; "[vdso]", "[stack]" and so on, "" for other memory
	Stored    uint64 // bytes of it that are in the core
}

// Mappings lists the memory of the process, ascending. What gdb writes has no segment for
// mapped files that were not changed: their permissions are those of the files' segments.
func (f *File) Mappings() []Mapping {
	var all []Mapping
	for i := range f.segments {
		s := &f.segments[i]
		m := Mapping{Low: s.low, High: s.high, Flags: s.flags, Stored: s.stored}
		if r := f.fileAt(s.low); r != nil {
			m.Name, m.Offset = r.name, r.off+uint64(s.low-r.low)
		} else {
			m.Name = f.special(s)
		}
		all = append(all, m)
	}
	for i := range f.files {
		r := &f.files[i]
		for low := r.low; low < r.high; {
			if s := f.segmentAt(low); s != nil {
				low = s.high
				continue
			}
			high := low + addr.Run(min(uint64(r.high-low), f.untilSegment(low)))
			off := r.off + uint64(low-r.low)
			all = append(all, Mapping{Low: low, High: high, Flags: f.fileFlags(r.name, off), Name: r.name, Offset: off})
			low = high
		}
	}
	slices.SortFunc(all, func(a, b Mapping) int { return cmp.Compare(a.Low, b.Low) })
	if i := slices.IndexFunc(all, func(m Mapping) bool { return m.Name == "[vdso]" }); i > 0 {
		nameVVar(all[:i], all[i].Low)
	}
	return all
}

// nameVVar names the data of the vDSO, which the kernel maps right below it: from Linux 6.13 on in two
// parts, of four pages and of two (arch/x86/entry/vdso/vma.c).
func nameVVar(below []Mapping, end addr.Run) {
	const data, clocks = 4 * pageSize, 2 * pageSize
	unnamed := func(i int, end addr.Run) bool {
		return i >= 0 && below[i].High == end && below[i].Name == "" && below[i].Flags == elf.PF_R
	}
	last := len(below) - 1
	if !unnamed(last, end) {
		return
	}
	m := &below[last]
	m.Name = "[vvar]"
	if m.High-m.Low != clocks || !unnamed(last-1, m.Low) {
		return
	}
	if d := &below[last-1]; d.High-d.Low == data {
		d.Name, m.Name = "[vvar]", "[vvar_vclock]"
	}
}

// fileFlags are the permissions of the segment of a mapped ELF file that has the offset.
func (f *File) fileFlags(name string, off uint64) elf.ProgFlag {
	b := f.backing(name)
	if b.err != nil {
		return elf.PF_R
	}
	for _, p := range b.loads {
		if begin := p.Off &^ (pageSize - 1); begin <= off && off < p.Off+p.Filesz {
			return p.Flags
		}
	}
	return elf.PF_R
}

// special is the kernel's name for memory of no file.
func (f *File) special(s *segment) string {
	within := func(a uint64) bool { return a != 0 && s.low <= addr.Run(a) && addr.Run(a) < s.high }
	switch {
	case within(f.Auxv[atSysinfo]) && s.high-s.low <= maxVDSO: // it is read as a whole
		return "[vdso]"
	case within(f.Auxv[atExecFn]):
		return "[stack]"
	case s.low == vsyscall:
		return "[vsyscall]"
	}
	return ""
}

// Program is the name of the program that ran: of the file that has its entry point,
// else what it was executed as; "" if the core does not tell.
func (f *File) Program() string {
	for _, key := range []uint64{atPHdr, AtEntry} {
		if r := f.fileAt(addr.Run(f.Auxv[key])); r != nil && f.Auxv[key] != 0 {
			return r.name
		}
	}
	if a := f.Auxv[atExecFn]; a != 0 {
		return f.text(addr.Run(a))
	}
	return ""
}

// ProgramID is the build ID of the program that ran, "" if the core does not have it.
func (f *File) ProgramID() string {
	if r := f.fileAt(addr.Run(f.Auxv[atPHdr])); r != nil {
		return BuildID(f.head(r.name))
	}
	// Without NT_FILE: the program headers are in the first page of the file.
	page := addr.Run(f.Auxv[atPHdr]) &^ (pageSize - 1)
	b := make([]byte, pageSize)
	if n, _ := f.ReadAt(b, int64(page)); n < len(b) {
		return ""
	}
	return BuildID(b)
}

// text reads a path that ends with a zero byte.
func (f *File) text(a addr.Run) string {
	b := make([]byte, 4096)
	n, _ := f.ReadAt(b, int64(a))
	if i := bytes.IndexByte(b[:n], 0); i >= 0 {
		return string(b[:i])
	}
	return ""
}
