package target

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"hdb/internal/addr"
	"hdb/internal/modkind"
	"hdb/symbols"
	"hdb/values"
)

// ProgramTLS is how many bytes below the thread pointer the variables of the program begin: its
// block comes first, and is aligned.
func ProgramTLS(seg segmentHeader) uint64 {
	if seg.align > 1 {
		return (seg.MemSize + seg.align - 1) / seg.align * seg.align
	}
	return seg.MemSize
}

// Types of program headers and a tag of the dynamic section (System V gABI).
const (
	ptDynamic = 2
	ptInterp  = 3
	PTTLS     = 7
	dtDebug   = 21
)

type segmentHeader struct {
	addr           addr.File
	MemSize, align uint64
}

// ProgramHeader finds the first program header of a type; the first segment holds
// them.
func ProgramHeader(o *symbols.Object, kind uint32) (segmentHeader, bool) {
	var base addr.File
	found := false
	for _, seg := range o.File.Segments() {
		if seg.Off == 0 {
			base, found = seg.Addr, true
		}
	}
	head := make([]byte, 64)
	if !found || !o.File.ReadAddr(head, base) {
		return segmentHeader{}, false
	}
	phoff, n := binary.LittleEndian.Uint64(head[32:]), binary.LittleEndian.Uint16(head[56:])
	for i := range min(n, 64) {
		ph := make([]byte, 56)
		if !o.File.ReadAddr(ph, base+addr.File(phoff)+56*addr.File(i)) {
			break
		}
		if binary.LittleEndian.Uint32(ph) == kind {
			return segmentHeader{addr.File(binary.LittleEndian.Uint64(ph[16:])), binary.LittleEndian.Uint64(ph[40:]), binary.LittleEndian.Uint64(ph[48:])}, true
		}
	}
	return segmentHeader{}, false
}

// TLS follows the C library's tables from a thread pointer to a module's block.
// An error of memory stays, so that the steps need no checks of their own.
type TLS struct {
	Target *Target
	FS     addr.Run
	Err    error
}

// Word reads a word, 0 if it cannot be read; Err has the first error.
func (t *TLS) Word(a addr.Run) uint64 {
	p, err := t.Target.ReadPointer(a)
	if err != nil && t.Err == nil {
		t.Err = fmt.Errorf("thread-local: %w", err)
	}
	return uint64(p)
}

// Block is where the thread's copy of a module's thread-local storage is.
func (t *TLS) Block(m values.Module) (addr.Run, error) {
	entry, index, err := t.linkMap(m)
	if err != nil {
		return 0, err
	}
	if modid, ok := t.Field("link_map_l_tls_modid"); ok {
		return t.Glibc(entry, modid)
	}
	if t.IsMusl() {
		return t.Musl(index)
	}
	return 0, errors.New("thread-local: the C library lacks the symbols that say where the variables of libraries are (glibc's _thread_db)")
}

// linkMap finds the dynamic linker's entry of a module (link.h, struct link_map), and
// the how manieth of those with thread-local storage it is.
func (t *TLS) linkMap(m values.Module) (entry addr.Run, index int, err error) {
	with := map[uint64]bool{} // the biases of modules with thread-local storage
	for _, o := range t.Target.Names.Images() {
		if _, ok := ProgramHeader(o.Object, PTTLS); ok {
			with[uint64(o.Bias)] = true
		}
	}
	debug := t.Debug()
	if debug == 0 {
		return 0, 0, errors.New("thread-local: the program has no list of its libraries")
	}
	found := false
	t.LinkMaps(debug, func(at addr.Run, bias uint64) bool {
		if with[bias] {
			index++
		}
		if found = bias == uint64(m.Bias); found {
			entry = at
		}
		return !found
	})
	switch {
	case t.Err != nil:
		return 0, 0, t.Err
	case !found:
		return 0, 0, errors.New("thread-local: the dynamic linker does not list the library")
	}
	return entry, index, nil
}

// maxLinkMaps bounds the dynamic linker's list of modules.
const maxLinkMaps = 1 << 14

// LinkMaps yields the entries of the dynamic linker's list with their biases, in its order.
func (t *TLS) LinkMaps(debug addr.Run, yield func(at addr.Run, bias uint64) bool) {
	at := addr.Run(t.Word(debug + 8)) // r_map
	for range maxLinkMaps {
		if at == 0 || t.Err != nil {
			return
		}
		if bias := t.Word(at); t.Err != nil || !yield(at, bias) {
			return
		}
		at = addr.Run(t.Word(at + 24)) // l_next
	}
}

// Debug is the struct r_debug, which lists the modules of the program's own namespace; 0 without.
func (t *TLS) Debug() addr.Run {
	images := t.Target.Names.Images()
	for _, o := range images {
		if t.Target.Names.Program != nil && o.Object == t.Target.Names.Program.Object {
			if at := t.debugStruct(o.Object, o.Bias); at != 0 {
				return at
			}
		}
	}
	for _, o := range images { // the program is static, or was given to the dynamic linker by its name
		if sym, ok := o.Object.Symtab.Symbol("_r_debug"); ok && sym.Defined {
			return sym.Addr.Run(o.Bias)
		}
	}
	return 0
}

// debugStruct is the struct r_debug that the dynamic linker has put into the program's
// dynamic section; 0 without.
func (t *TLS) debugStruct(o *symbols.Object, bias addr.Bias) addr.Run {
	dyn, ok := ProgramHeader(o, ptDynamic)
	if !ok {
		return 0
	}
	for i := range min(dyn.MemSize/16, 256) {
		at := dyn.addr.Run(bias) + addr.Run(16*i)
		switch t.Word(at) {
		case dtDebug:
			return addr.Run(t.Word(at + 8))
		case 0:
			return 0
		}
	}
	return 0
}

// Field is the offset of a field that glibc tells libthread_db: three 32-bit numbers,
// its size in bits, how many there are, and the offset (nptl_db/thread_dbP.h).
func (t *TLS) Field(name string) (addr.Run, bool) {
	b, ok := t.Exported("_thread_db_"+name, 12)
	if !ok {
		return 0, false
	}
	return addr.Run(binary.LittleEndian.Uint32(b[8:])), true
}

// Exported reads n bytes of the first variable of that name which a module defines.
func (t *TLS) Exported(name string, n int) ([]byte, bool) {
	for _, o := range t.Target.Names.Images() {
		sym, ok := o.Object.Symtab.Symbol(name)
		if !ok || !sym.Defined {
			continue
		}
		b := make([]byte, n)
		if got, _ := t.Target.Image.ReadAt(b, int64(sym.Addr.Run(o.Bias))); got == n {
			return b, true
		}
	}
	return nil, false
}

// Glibc reads dtv[modid].pointer, as libthread_db's td_thr_tlsbase does. A block of the initial set
// is at a fixed distance from the thread pointer, whatever the vector says.
func (t *TLS) Glibc(entry, modidAt addr.Run) (addr.Run, error) {
	dtvAt, ok := t.Field("pthread_dtvp")
	if !ok {
		dtvAt = 8
	}
	pointerAt, _ := t.Field("dtv_t_pointer_val")
	modid := t.Word(entry + modidAt)
	dtv := addr.Run(t.Word(t.FS + dtvAt))
	length, generation := t.Word(dtv-16), t.Word(dtv)
	if t.Err != nil {
		return 0, t.Err
	}
	if modid == 0 {
		return 0, errors.New("thread-local: the dynamic linker has given the library no module number")
	}
	const unallocated = ^uint64(0) // TLS_DTV_UNALLOCATED
	block := unallocated
	if modid <= length && !t.stale(modid, generation) {
		block = t.Word(dtv + addr.Run(16*modid) + pointerAt)
	}
	if at, ok := t.Field("link_map_l_tls_offset"); ok && block == unallocated {
		// 0 is NO_TLS_OFFSET, -1 FORCED_DYNAMIC_TLS_OFFSET.
		if off := t.Word(entry + at); off != 0 && off != ^uint64(0) && t.Err == nil {
			return t.FS - addr.Run(off), nil
		}
	}
	switch {
	case t.Err != nil:
		return 0, t.Err
	case block == unallocated || block == 0:
		return 0, errNoTLS
	}
	return addr.Run(block), nil
}

// stale reports whether a module number was given anew since the thread's vector was
// brought up to date: then the vector has the block of a library that is gone.
func (t *TLS) stale(modid, generation uint64) bool {
	listAt, ok := t.Field("rtld_global__dl_tls_dtv_slotinfo_list")
	lenAt, _ := t.Field("dtv_slotinfo_list_len")
	nextAt, _ := t.Field("dtv_slotinfo_list_next")
	infoAt, ok1 := t.Field("dtv_slotinfo_list_slotinfo")
	genAt, _ := t.Field("dtv_slotinfo_gen")
	size, ok2 := t.Exported("_thread_db_sizeof_dtv_slotinfo", 4)
	var global addr.Run
	for _, o := range t.Target.Names.Images() {
		if sym, ok := o.Object.Symtab.Symbol("_rtld_global"); ok && sym.Defined {
			global = sym.Addr.Run(o.Bias)
		}
	}
	if !ok || !ok1 || !ok2 || global == 0 {
		return false
	}
	list := addr.Run(t.Word(global + listAt))
	for range 1 << 10 {
		if list == 0 || t.Err != nil {
			return false
		}
		n := t.Word(list + lenAt)
		if modid < n {
			slot := list + infoAt + addr.Run(modid*uint64(binary.LittleEndian.Uint32(size)))
			return t.Word(slot+genAt) > generation
		}
		modid -= n
		list = addr.Run(t.Word(list + nextAt))
	}
	return false
}

// IsMusl tells musl by the dynamic linker that the program names.
func (t *TLS) IsMusl() bool {
	if t.Target.Names.Program == nil || t.Target.Names.Program.Object == nil {
		return false
	}
	seg, ok := ProgramHeader(t.Target.Names.Program.Object, ptInterp)
	name := make([]byte, min(seg.MemSize, 4096))
	return ok && t.Target.Names.Program.Object.File.ReadAddr(name, seg.addr) && modkind.IsMusl(string(bytes.TrimRight(name, "\x00")))
}

// Musl reads dtv[index]: musl numbers the modules with thread-local storage in the
// order of its list, from which none is ever removed (src/internal/pthread_impl.h).
func (t *TLS) Musl(index int) (addr.Run, error) {
	dtv := addr.Run(t.Word(t.FS + 8))
	count := t.Word(dtv)
	if t.Err != nil {
		return 0, t.Err
	}
	if index < 1 || uint64(index) > count {
		return 0, errNoTLS
	}
	block := t.Word(dtv + addr.Run(8*index))
	if block == 0 && t.Err == nil {
		return 0, errNoTLS
	}
	return addr.Run(block), t.Err
}

// errNoTLS is the error where the C library has not made a thread's copy of a module's
// variables yet: it does so when the thread uses the first of them.
var errNoTLS = errors.New("thread-local: this thread has no copy of the variable yet")
