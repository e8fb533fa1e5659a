package probe

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"hdb/inferior"
	"hdb/internal/addr"

	"golang.org/x/arch/x86/x86asm"
)

// A goReturn is where a function of a Go runtime returns: its last instructions, which have
// room for a jump, end in the return.
type goReturn struct {
	at    addr.Run
	first []byte     // the instructions
	each  []addr.Run // where they begin
}

// goReturns finds the returns of a function of Go that has allocated, from the address at behind
// its check for stack space. Those are left out that return what another function of entries has,
// or the address of what has no bytes. What is not understood is an error: a jump may only go where
// it is known what is there.
func goReturns(code []byte, at addr.Run, entries []addr.Run) ([]goReturn, error) {
	type instruction struct {
		x86asm.Inst
		at addr.Run
	}
	var list []instruction
	targets := map[addr.Run]bool{}
	for off := 0; off < len(code); {
		in, err := x86asm.Decode(code[off:], 64)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", at+addr.Run(off), err)
		}
		i := instruction{in, at + addr.Run(off)}
		off += in.Len
		if rel, ok := in.Args[0].(x86asm.Rel); ok && in.Op != x86asm.CALL {
			targets[at+addr.Run(int64(off)+int64(rel))] = true
		}
		list = append(list, i)
	}
	var all []goReturn
	for n, last := range list {
		if last.Op != x86asm.RET {
			continue
		}
		begin, size := n, last.Len
		for size < jumpSize && begin > 0 && leavesFrame(list[begin-1].Inst) {
			begin--
			size += list[begin].Len
		}
		before := begin - 1
		for before >= 0 && (leavesFrame(list[before].Inst) || restoresBP(list[before].Inst)) {
			before--
		}
		if before >= 0 && (passesOn(list[before].Inst, list[before].at, entries) || givesAddress(list[before].Inst)) {
			continue
		}
		if size < jumpSize {
			return nil, fmt.Errorf("%v: no room for a jump at the return: %d bytes", last.at, size)
		}
		r := goReturn{at: list[begin].at, first: code[list[begin].at-at:][:size]}
		for _, i := range list[begin : n+1] {
			if i.at != r.at && targets[i.at] {
				return nil, fmt.Errorf("%v: a branch leads into the last instructions of the function", i.at)
			}
			r.each = append(r.each, i.at)
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%v: the function returns nowhere", at)
	}
	return all, nil
}

// leavesFrame tells instructions of a function's end, which can be executed elsewhere.
func leavesFrame(in x86asm.Inst) bool {
	switch in.Op {
	case x86asm.ADD, x86asm.SUB:
		_, constant := in.Args[1].(x86asm.Imm)
		return in.Args[0] == x86asm.RSP && constant
	case x86asm.POP:
		return in.Args[0] == x86asm.RBP
	case x86asm.NOP:
		return true
	}
	return false
}

// restoresBP tells the load of rbp from the frame, as Go 1.20 and before did it.
func restoresBP(in x86asm.Inst) bool {
	m, ok := in.Args[1].(x86asm.Mem)
	return in.Op == x86asm.MOV && in.Args[0] == x86asm.RBP && ok && m.Base == x86asm.RSP
}

// passesOn tells a call of a function whose returns are found on their own: one of entries,
// or of a table.
func passesOn(in x86asm.Inst, at addr.Run, entries []addr.Run) bool {
	if in.Op != x86asm.CALL {
		return false
	}
	rel, direct := in.Args[0].(x86asm.Rel)
	return !direct || slices.Contains(entries, at+addr.Run(int64(in.Len)+int64(rel)))
}

// givesAddress recognizes lea of the address of runtime.zerobase into the result, or its load from
// the global offset table in a library that programs are linked with (-buildmode=shared).
func givesAddress(in x86asm.Inst) bool {
	m, ok := in.Args[1].(x86asm.Mem)
	return (in.Op == x86asm.LEA || in.Op == x86asm.MOV) && in.Args[0] == x86asm.RAX && ok && m.Base == x86asm.RIP
}

// goAlone reports whether a module is a program of Go without C: its runtime makes the threads itself, and
// their FS base is the end of tls in the runtime's m (runtime.settls in sys_linux_amd64.s). Linked at a fixed address, such
// a program has no segment that tells a C library of thread-local storage; as a PIE it has, but needs no library.
func goAlone(memory io.ReaderAt, m inferior.Module) bool {
	var h elf.Header64
	header := io.NewSectionReader(memory, int64(m.Low), int64(binary.Size(h)))
	if err := binary.Read(header, binary.LittleEndian, &h); err != nil {
		return false
	}
	const most, far = 64, 1 << 16 // of what the program may say
	if string(h.Ident[:4]) != elf.ELFMAG || h.Phnum > most || h.Phoff > far {
		return false
	}
	segments := make([]elf.Prog64, h.Phnum)
	list := io.NewSectionReader(memory, int64(m.Low)+int64(h.Phoff), int64(binary.Size(segments)))
	if err := binary.Read(list, binary.LittleEndian, segments); err != nil {
		return false
	}
	segment := func(kind elf.ProgType) int {
		return slices.IndexFunc(segments, func(p elf.Prog64) bool { return elf.ProgType(p.Type) == kind })
	}
	switch elf.Type(h.Type) {
	case elf.ET_EXEC:
		return segment(elf.PT_TLS) < 0 && segment(elf.PT_INTERP) < 0
	case elf.ET_DYN:
		dynamic := segment(elf.PT_DYNAMIC)
		return segment(elf.PT_INTERP) >= 0 && dynamic >= 0 && needsNothing(memory, m, segments[dynamic])
	}
	return false
}

// needsNothing reports whether the dynamic section names no library.
func needsNothing(memory io.ReaderAt, m inferior.Module, dynamic elf.Prog64) bool {
	const most = 1 << 12 // bytes, of what the program may say
	entries := make([]elf.Dyn64, min(dynamic.Memsz, most)/uint64(binary.Size(elf.Dyn64{})))
	list := io.NewSectionReader(memory, int64(addr.File(dynamic.Vaddr).Run(m.Bias)), int64(binary.Size(entries)))
	if err := binary.Read(list, binary.LittleEndian, entries); err != nil {
		return false
	}
	for _, e := range entries {
		switch elf.DynTag(e.Tag) {
		case elf.DT_NEEDED:
			return false
		case elf.DT_NULL:
			return true
		}
	}
	return false
}
