package breakpoints

import (
	"encoding/binary"
	"slices"

	"golang.org/x/arch/x86/x86asm"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
)

// glibc has a cache of freed blocks for each thread. When a thread ends, a function of the
// allocator empties the cache: it calls free for each block, and for the cache itself. The
// program has freed these blocks before, so these calls are no events. The function has no
// symbol in a stripped libc. It is recognized by what it does: it lies near free, calls it,
// and writes a pointer in thread-local storage that malloc and free use, too. That holds for
// glibc 2.26 to 2.41; older ones have no such cache, and newer ones call an internal
// function.
//
// From 2.43 on the first free of a thread makes the cache, and then jumps to the entry of free: a
// second call of it, with the same block, stack and return address. It is recognized by that jump.

// Extent is the addresses from Low to before High.
type Extent struct{ Low, High addr.Run }

// Contains reports whether a is in the extent.
func (e Extent) Contains(a addr.Run) bool { return e.Low <= a && a < e.High }

// releaseReach is how far from the entry of free the function is looked for, in bytes:
// glibc's malloc.o has some 30 KiB of code.
const releaseReach = 64 << 10

// longestRelease bounds the function's code in bytes, and what is read of an allocator's.
const longestRelease = 4096

// setReleases sets Release of the module's functions that free.
func (f Finder) setReleases(m inferior.Module, sites []*Site) {
	own := slices.DeleteFunc(slices.Clone(sites), func(s *Site) bool {
		return s.In.Low != m.Low || s.In.Path != m.Path || s.Function.Group != GroupC || s.Function.Whole || s.Err != nil
	})
	for _, s := range own {
		if s.Function.Kind == capture.Free {
			s.Release = f.release(s, own)
			s.Restarts = f.restarts(s)
		}
	}
}

// release is the code that calls a function for the blocks of a thread's cache, empty if
// there is none. own are the module's functions.
func (f Finder) release(free *Site, own []*Site) Extent {
	var shared map[threadLocal]bool
	for _, at := range f.callsOf(free) {
		low, high, ok := f.Symbols.Extent(free.In, at)
		code := Extent{low, high}
		entry := func(s *Site) bool { return code.Contains(s.Addr) }
		if !ok || high-low > longestRelease || slices.ContainsFunc(own, entry) {
			continue
		}
		_, written := f.threadLocals(code)
		if len(written) == 0 {
			continue
		}
		if shared == nil {
			shared = f.sharedLocals(own)
		}
		for local := range written {
			if shared[local] {
				return code
			}
		}
	}
	return Extent{}
}

// restartReach is how far behind the entry of free code that belongs to it jumps there, in bytes: in 2.43 0x26f.
const restartReach = 1 << 10

// restarts reports whether code of a function that frees jumps to its entry.
func (f Finder) restarts(free *Site) bool {
	return len(f.refersTo(free, jumpOpcode, free.Addr, free.Addr+restartReach)) > 0
}

// Opcodes with the distance to a target in the next four bytes.
const (
	callOpcode = 0xe8
	jumpOpcode = 0xe9
)

// callsOf are the places near a function where it is called directly.
func (f Finder) callsOf(s *Site) []addr.Run {
	return f.refersTo(s, callOpcode, s.Addr-min(s.Addr, releaseReach), s.Addr+releaseReach)
}

// refersTo are the places between two addresses where code calls a function or jumps to it.
func (f Finder) refersTo(s *Site, opcode byte, low, high addr.Run) []addr.Run {
	low, high = max(s.In.Low, low), min(s.In.High, high)
	code := make([]byte, high-low)
	n, _ := f.Memory.ReadAt(code, int64(low)) // what can be read is enough
	var calls []addr.Run
	for i := 0; i+5 <= n; i++ {
		next := low + addr.Run(i) + 5
		if code[i] == opcode && next+addr.Run(int32(binary.LittleEndian.Uint32(code[i+1:]))) == s.Addr {
			calls = append(calls, low+addr.Run(i))
		}
	}
	return calls
}

// sharedLocals are the pointers in thread-local storage that malloc and free use.
func (f Finder) sharedLocals(own []*Site) map[threadLocal]bool {
	all := map[threadLocal]bool{}
	for _, s := range own {
		if s.Function.Symbol != "malloc" && s.Function.Symbol != "free" {
			continue
		}
		low, high, ok := f.Symbols.Extent(s.In, s.Addr)
		if !ok {
			continue
		}
		used, _ := f.threadLocals(Extent{low, high})
		for local := range used {
			all[local] = true
		}
	}
	return all
}

// A threadLocal is a variable in thread-local storage: by its distance from the thread
// pointer, or by the address of the word of the GOT that holds this.
type threadLocal struct {
	got    bool
	offset uint64
}

// threadLocals are the 8-byte variables in thread-local storage that code uses, and those
// of them that it writes. It is read from its start, and as if no register kept its value
// across a branch's target: there are few, and all are close to their use.
func (f Finder) threadLocals(code Extent) (used, written map[threadLocal]bool) {
	b := make([]byte, min(code.High-code.Low, longestRelease))
	n, _ := f.Memory.ReadAt(b, int64(code.Low))
	b = b[:n]
	used, written = map[threadLocal]bool{}, map[threadLocal]bool{}
	held := map[x86asm.Reg]threadLocal{} // whose distance a register holds
	for pc := code.Low; len(b) > 0; {
		in, err := x86asm.Decode(b, 64)
		if err != nil || in.Len == 0 {
			in = x86asm.Inst{Len: 1}
		}
		pc, b = pc+addr.Run(in.Len), b[in.Len:]
		for i, arg := range in.Args {
			m, ok := arg.(x86asm.Mem)
			if !ok || m.Segment != x86asm.FS || in.MemBytes != 8 {
				continue
			}
			local, ok := threadLocal{offset: uint64(m.Disp)}, m.Base == 0 && m.Index == 0
			if m.Base != 0 && m.Disp == 0 {
				local, ok = held[m.Base]
			}
			if ok {
				used[local] = true
				written[local] = written[local] || in.Op == x86asm.MOV && i == 0
			}
		}
		if r, ok := in.Args[0].(x86asm.Reg); ok && in.Op == x86asm.MOV {
			delete(held, r)
			switch from := in.Args[1].(type) {
			case x86asm.Mem:
				if from.Base == x86asm.RIP && from.Segment == 0 {
					held[r] = threadLocal{got: true, offset: uint64(pc) + uint64(from.Disp)}
				}
			case x86asm.Imm:
				held[r] = threadLocal{offset: uint64(from)}
			}
		}
	}
	for local, w := range written {
		if !w {
			delete(written, local)
		}
	}
	return used, written
}
