package inferior

import (
	"debug/elf"
	"encoding/binary"
	"runtime"
	"unsafe"

	"hdb/inferior/corefile"
	"hdb/inferior/x86"

	"golang.org/x/sys/unix"
)

// A CoreError says that what is left of a process cannot do what running ones do.
type CoreError struct{ Signal int } // that ended it, 0 none: a picture of a process that continued

func (e *CoreError) Error() string {
	if e.Signal == 0 {
		return "core: a core file cannot run; run starts the program again"
	}
	return "core: the process has ended: " + ExitStatus{Signal: e.Signal}.String() + "; run starts it anew"
}

// OpenCore is the process of a core file as it was: its threads are stopped without end, and their
// registers and the memory are what the file has. Whatever would run or change it is a *CoreError.
// exe is the file of the program that ran. Close closes the core, too.
func OpenCore(core *corefile.File, exe string) *Process {
	runtime.LockOSThread()
	p := newProcess()
	p.target = newTarget(core.Process.PID, false)
	p.target.core, p.target.exe, p.memory.core = core, exe, core
	for i := range core.Threads {
		p.addCoreThread(&core.Threads[i])
	}
	p.modules.rescan()
	return p
}

// addCoreThread enters a thread in the state that it had when the core was written.
func (p *Process) addCoreThread(c *corefile.Thread) {
	t := p.addThread(p.target, c.TID, stopped)
	t.core, t.regs, t.regsValid = c, readRegisters(c.Regs), true
	if len(c.Siginfo) > 0 && c.Signal != 0 {
		var info siginfo
		copy(info[:], c.Siginfo)
		t.queue = []pendingSignal{{info: info, seen: true}}
	}
}

// readRegisters reads struct user_regs_struct.
func readRegisters(b []byte) (r Registers) {
	words := (*[unsafe.Sizeof(r) / 8]uint64)(unsafe.Pointer(&r))
	for i := range words {
		if len(b) >= 8*i+8 {
			words[i] = binary.LittleEndian.Uint64(b[8*i:])
		}
	}
	return r
}

// Core is the core file that the process is read from, nil while it lives.
func (tg *target) Core() *corefile.File { return tg.core }

// Died is the signal that ended the process of a core, explained, nil of one that continued.
func (p *Process) Died() *Signal {
	if p.target.core == nil || len(p.target.order) == 0 {
		return nil
	}
	t := p.target.order[0]
	n := t.core.Signal
	switch {
	case n == 0:
		return nil
	case len(t.queue) == 0 || t.queue[0].info.signo() != n:
		return &Signal{Number: n, Name: SignalName(n), Explanation: SignalName(n), Fatal: !nonFatal[unix.Signal(n)]}
	}
	s := explain(p, t, &t.queue[0].info)
	if unix.Signal(n) == unix.SIGTRAP && s.Code == sigKernel { // which a debugger may have planted that wrote the core
		s.Explanation = s.Name + ": a breakpoint"
	}
	return s
}

// coreVectors are the vector registers of a thread of a core. NT_X86_XSTATE is a whole
// XSAVE area, NT_FPREGSET its beginning.
func (t *Thread) coreVectors() (Vectors, bool) {
	if v, ok := x86.VectorsOf(t.core.Xstate); ok {
		return v, true
	}
	return x86.LegacyVectors(t.core.FP)
}

// CoreMaps are the mappings of a core in the shape of /proc/PID/maps. A file is distinguished from
// others by its name, which its inode represents; there is no device.
func CoreMaps(core *corefile.File) []Mapping {
	inodes := map[string]uint64{}
	var all []Mapping
	for _, s := range core.Mappings() {
		m := Mapping{Low: s.Low, High: s.High, Perm: corePerm(s.Flags), Offset: s.Offset, Path: s.Name}
		if s.Name != "" && s.Name[0] != '[' {
			if inodes[s.Name] == 0 {
				inodes[s.Name] = uint64(len(inodes) + 1)
			}
			m.Inode = inodes[s.Name]
		}
		all = append(all, m)
	}
	return all
}

// corePerm is the text of the permissions. Whether a mapping was shared is not known.
func corePerm(f elf.ProgFlag) string {
	b := []byte("---p")
	for i, bit := range []elf.ProgFlag{elf.PF_R, elf.PF_W, elf.PF_X} {
		if f&bit != 0 {
			b[i] = "rwx"[i]
		}
	}
	return string(b)
}

// openable is where the file of a mapping of the target can be opened.
func (tg *target) openable(m Mapping) string {
	if tg.core != nil {
		return tg.core.Found(m.Path)
	}
	return m.Openable(tg.pid)
}

// coreName is the name of a thread of a core: the core has only the name of the thread that died.
func (tg *target) coreName(t *Thread) string {
	if len(tg.order) > 0 && t == tg.order[0] {
		return tg.core.Process.Command
	}
	return ""
}
