package heaps

import (
	"encoding/binary"
	"errors"
	"slices"

	"hdb/heap/regions"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/probe"
	"hdb/session/cpython"
	"hdb/session/target"
	"hdb/unwind"
)

// heapSpace finds who owns the parts of the address space of a stopped process or a core file.
type heapSpace struct {
	target *target.Target
	python cpython.Heaps
	walker *target.Walker
}

// space is the address space, of a copy if copied is one.
func (h *heapSpace) space(copied *inferior.Snapshot) (regions.Source, error) {
	p := h.target.Image
	src := regions.Source{PID: p.PID(), Memory: p, Pthread: h.pthread()}
	maps, err := h.mappings(&src, copied)
	if err != nil {
		return src, err
	}
	for _, m := range maps {
		switch {
		case h.target.OwnsMapping(m):
			src.Own = append(src.Own, regions.Range{Start: m.Low, End: m.High, Label: "probe"})
		case p.TrapHandler(m):
			src.Own = append(src.Own, regions.Range{Start: m.Low, End: m.High, Label: "handler of SIGTRAP"})
		}
	}
	if cards := probe.Own(maps, p); len(cards) > 0 {
		src.Own = slices.DeleteFunc(src.Own, func(r regions.Range) bool { return r.Label == "probe" }) // they have more to say
		for _, o := range cards {
			src.Own = append(src.Own, regions.Range{Start: o.Low, End: o.High, Label: o.What})
		}
	}
	for _, m := range p.Modules() {
		if m.VDSO {
			continue
		}
		mod := regions.Module{Name: m.Name, Low: m.Low, High: m.High}
		for _, s := range p.Segments(m) {
			mod.Segments = append(mod.Segments, regions.Segment{Start: s.Low, End: s.High, FileEnd: s.FileHigh, Write: s.Writable})
		}
		src.Modules = append(src.Modules, mod)
	}
	h.threads(&src)
	heaps, err := h.python.All()
	if h.target.Reading.GivenUp() {
		return src, errors.Join(h.target.Reading.Cut(), err)
	}
	for _, ph := range heaps {
		for _, a := range ph.Arenas {
			src.Runtimes = append(src.Runtimes, regions.Range{Start: a.At, End: a.At + addr.Run(ph.ArenaSize), Label: "pymalloc arena"})
		}
	}
	return src, nil
}

// mappings are those of the process with what they take, if that is known.
func (h *heapSpace) mappings(src *regions.Source, copied *inferior.Snapshot) (maps []inferior.Mapping, err error) {
	p := h.target.Image
	if copied != nil {
		return copiedMappings(src, copied), nil
	}
	if p.Core() == nil {
		if all, err := p.Usage(); err == nil {
			for _, m := range all {
				maps = append(maps, m.Mapping)
				src.Mappings = append(src.Mappings, regions.Mapping{
					Start: m.Low, End: m.High, Perm: m.Perm, Offset: m.Offset, Inode: m.Inode, Path: m.Path,
					Known: true, Usage: regions.Usage{Resident: m.Resident, Dirty: m.Dirty, Swap: m.Swap},
				})
			}
			src.Pages = func(start, end addr.Run, yield func(regions.PageRun)) error {
				return p.Pages(start, end, func(r inferior.PageRun) {
					yield(regions.PageRun{Start: r.Low, End: r.High, Resident: r.Resident, Changed: r.Changed})
				})
			}
			return maps, nil
		}
	}
	if maps, err = p.Maps(); err != nil {
		return nil, err
	}
	for _, m := range maps {
		src.Mappings = append(src.Mappings, regions.Mapping{Start: m.Low, End: m.High, Perm: m.Perm, Offset: m.Offset, Inode: m.Inode, Path: m.Path})
	}
	return maps, nil
}

// pthread is what glibc exports for libthread_db.
func (h *heapSpace) pthread() (out regions.Pthread) {
	t := target.TLS{Target: h.target}
	if b, ok := t.Exported("_thread_db_sizeof_pthread", 4); ok {
		out.Size = uint64(binary.LittleEndian.Uint32(b))
	}
	field := func(name string) uint64 { a, _ := t.Field(name); return uint64(a) }
	out.List, out.TID = field("pthread_list"), field("pthread_tid")
	global := h.defined("_rtld_global")
	if used, ok := t.Field("rtld_global__dl_stack_used"); ok && global != 0 {
		// The lists follow each other (glibc 2.34 on, sysdeps/generic/ldsodefs.h).
		const listNode = 16
		out.Used, out.User, out.Cache = global+used, global+used+listNode, global+used+2*listNode
	}
	return out
}

// defined is where a module has a symbol, 0 nowhere.
func (h *heapSpace) defined(name string) addr.Run {
	for _, o := range h.target.Names.Images() {
		if sym, ok := o.Object.Symtab.Symbol(name); ok && sym.Defined {
			return sym.Addr.Run(o.Bias)
		}
	}
	return 0
}

// threads adds the threads with their stacks and thread-local storage.
func (h *heapSpace) threads(src *regions.Source) {
	p := h.target.Image
	modules := h.tlsModules()
	main := regionsStack(src.Mappings)
	for _, t := range p.Threads() {
		regs, err := t.Regs()
		if err != nil {
			continue // it ends
		}
		thread := regions.Thread{TID: t.TID, Stacks: []addr.Run{regs.SP()}, FS: addr.Run(regs.FsBase)}
		own := thread.FS
		if t.TID == src.PID {
			own = main
		}
		if !sameMapping(src.Mappings, own, regs.SP()) {
			h.interrupted(t, &thread)
		}
		src.Threads = append(src.Threads, thread)
		if thread.FS != 0 {
			h.storage(src, &thread, modules)
		}
	}
}

// regionsStack is an address in the stack of the main thread, 0 without.
func regionsStack(maps []regions.Mapping) addr.Run {
	for _, m := range maps {
		if m.Path == "[stack]" {
			return m.Start
		}
	}
	return 0
}

// sameMapping reports whether both addresses are in the same mapping.
func sameMapping(maps []regions.Mapping, a, b addr.Run) bool {
	for _, m := range maps {
		if m.Start <= a && a < m.End {
			return m.Start <= b && b < m.End
		}
	}
	return false
}

// Offsets in struct ucontext of the kernel on x86-64 (asm/ucontext.h, asm/sigcontext.h).
const (
	contextStack     = 16 // stack_t: ss_sp, ss_flags, ss_size
	contextStackSize = contextStack + 16
	contextSP        = 40 + 15*8
)

// maxSignals bounds the signals that interrupt each other's handlers.
const maxSignals = 64

// interrupted adds the stack pointers of what signals have interrupted on a thread that runs on
// another stack than its own, and its alternate signal stack: the kernel has saved them on the
// stack of the handler.
func (h *heapSpace) interrupted(t *inferior.Thread, thread *regions.Thread) {
	const depth = 256
	raw, err := h.walker.Raw(t, depth, addr.Code{})
	if err != nil {
		return
	}
	signals := 0
	for _, f := range raw.Frames {
		if !f.Signal || signals == maxSignals {
			continue
		}
		signals++
		sp, ok := f.Regs.Get(unwind.RSP) // behind the return address to the trampoline: struct ucontext
		if !ok {
			continue
		}
		context := addr.Run(sp)
		if at, err := h.target.ReadPointer(context + contextSP); err == nil {
			thread.Stacks = append(thread.Stacks, at)
		}
		low, err1 := h.target.ReadPointer(context + contextStack)
		size, err2 := h.target.ReadPointer(context + contextStackSize)
		if err1 == nil && err2 == nil && low != 0 && size != 0 && low+size > low && low <= context && context < low+size {
			thread.SignalStack = regions.Range{Start: low, End: low + size}
		}
	}
}

// A tlsModule is a module with thread-local variables.
type tlsModule struct {
	name   string
	size   uint64
	static addr.Run // the bytes from its block up to the thread pointer, 0 not known
	entry  addr.Run // its struct link_map, 0 not known
	index  int      // among those with variables in the dynamic linker's list, from 1; 0 not known
}

// tlsModules are those that are loaded.
func (h *heapSpace) tlsModules() (all []tlsModule) {
	t := target.TLS{Target: h.target}
	at := map[uint64]int{} // by bias
	for _, o := range h.target.Names.Images() {
		program := h.target.Names.Program != nil && o.Object == h.target.Names.Program.Object
		seg, has := target.ProgramHeader(o.Object, target.PTTLS)
		if !has || seg.MemSize == 0 {
			continue
		}
		m := tlsModule{name: o.Name, size: seg.MemSize}
		if program {
			m.static = addr.Run(target.ProgramTLS(seg))
		}
		at[uint64(o.Bias)] = len(all)
		all = append(all, m)
	}
	offsetAt, ok := t.Field("link_map_l_tls_offset")
	index, debug := 0, t.Debug()
	if debug == 0 {
		return all
	}
	t.LinkMaps(debug, func(entry addr.Run, bias uint64) bool {
		i, has := at[bias]
		if !has {
			return true
		}
		index++
		m := &all[i]
		m.entry, m.index = entry, index
		if !ok || m.static != 0 {
			return true
		}
		// 0 is NO_TLS_OFFSET, -1 FORCED_DYNAMIC_TLS_OFFSET.
		if off := t.Word(entry + offsetAt); off != 0 && off != ^uint64(0) && t.Err == nil {
			m.static = addr.Run(off)
		}
		return true
	})
	return all
}

// storage adds what a thread has of the modules' variables.
func (h *heapSpace) storage(src *regions.Source, thread *regions.Thread, modules []tlsModule) {
	t := target.TLS{Target: h.target, FS: thread.FS}
	modid, ok := t.Field("link_map_l_tls_modid")
	musl := !ok && t.IsMusl()
	for _, m := range modules {
		b := regions.TLSBlock{TID: thread.TID, Module: m.name, Static: m.static != 0, Start: thread.FS - m.static}
		err := error(nil)
		switch t.Err = nil; {
		case b.Static:
		case musl && m.index > 0:
			b.Start, err = t.Musl(m.index)
			b.Static = b.Start < thread.FS && sameMapping(src.Mappings, b.Start, thread.FS)
		case ok && m.entry != 0:
			b.Start, err = t.Glibc(m.entry, modid)
		default:
			continue
		}
		if b.End = b.Start + addr.Run(m.size); err == nil && b.End > b.Start { // else this thread has none yet
			src.TLS = append(src.TLS, b)
		}
	}
}
