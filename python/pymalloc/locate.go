package pymalloc

import (
	"errors"
	"fmt"

	"hdb/internal/addr"
	"hdb/python"
	"hdb/python/layout"

	"golang.org/x/arch/x86/x86asm"
)

// variables are the addresses of those of an allocator.
type variables struct {
	pools                addr.Run // from 3.12 on, the beginning of the state
	arenas, maxArenas    addr.Run // struct arena_object *, unsigned int
	allocated, highwater addr.Run // size_t
	mid, bottom          addr.Run // int, from 3.10 on
}

// maxState is how far into an interpreter's state the allocator's is looked for.
const maxState = 32 << 10

// A locator finds the variables of the allocator.
type locator struct {
	mem python.Memory
	rt  python.Runtime
}

// state finds those of an interpreter from 3.12 on: in its state or, from some release of 3.12 or
// 3.13 on, where a pointer there leads. The state begins with usedpools, which refers to itself.
func (l locator) state(interpreter addr.Run) (variables, error) {
	b, err := read(l.mem, interpreter, maxState)
	if err != nil {
		return variables{}, err
	}
	found := func(at addr.Run) variables {
		s := &l.rt.Layout.Pymalloc.State
		return variables{pools: at, arenas: at + addr.Run(s.Arenas), maxArenas: at + addr.Run(s.MaxArenas),
			allocated: at + addr.Run(s.Allocated), highwater: at + addr.Run(s.Highwater), mid: at + addr.Run(s.Mid), bottom: at + addr.Run(s.Bottom)}
	}
	for at := 0; at+layout.UsedPools <= len(b); at += 8 {
		if l.isUsedPools(b[at:], interpreter+addr.Run(at)) {
			return found(interpreter + addr.Run(at)), nil
		}
	}
	var there [layout.UsedPools]byte
	for at := 0; at < len(b); at += 8 {
		to := pointerIn(b, at)
		if to == 0 || to%8 != 0 || to >= 1<<47 {
			continue
		}
		if n, _ := l.mem.ReadAt(there[:], int64(to)); n == len(there) && l.isUsedPools(there[:], to) {
			return found(to), nil
		}
	}
	return variables{}, errors.New("the state of its allocator was not found")
}

// isUsedPools reports whether b at an address is the table of pools with free blocks. For each class it has the
// links of a ring, where a pool without a header is: &usedpools[2*i]-16, whose nextpool and prevpool are the two
// words. A ring without pools leads to itself.
func (l locator) isUsedPools(b []byte, at addr.Run) bool {
	for i := range Classes {
		head := at + addr.Run(16*i) - layout.PoolNext
		next, prev := pointerIn(b, 16*i), pointerIn(b, 16*i+8)
		if (next == head) != (prev == head) || next == 0 || prev == 0 {
			return false
		}
	}
	for i := range Classes {
		head := at + addr.Run(16*i) - layout.PoolNext
		if next := pointerIn(b, 16*i); next != head {
			if back, err := word(l.mem, next+layout.PoolPrevious); err != nil || addr.Run(back) != head {
				return false
			}
		}
	}
	return true
}

// statsFunction prints what sys._debugmallocstats() does of the allocator: it reads all
// variables that are of interest here.
const statsFunction = "_PyObject_DebugMallocStats"

// static finds the variables of versions up to 3.11 in the instructions of the function
// that prints them.
func (l locator) static(symbols python.Symbols) (v variables, err error) {
	function, ok := symbols(statsFunction)
	if !ok {
		return v, fmt.Errorf("CPython %s: it does not export %s", l.rt.Version, statsFunction)
	}
	loads := l.loads(function)
	h := Heap{mem: l.mem, ArenaSize: l.rt.Layout.Pymalloc.Arena, PoolSize: l.rt.Layout.Pymalloc.Pool}
	started, left := false, maxTries
	for _, n := range loads {
		count, err := word(l.mem, n.at)
		if n.size != 4 || err != nil || uint32(count) < firstArray || uint32(count)&(uint32(count)-1) != 0 {
			continue
		}
		started = true
		for _, a := range loads {
			if a.size != 8 || v.arenas != 0 || left == 0 {
				continue
			}
			left--
			if _, err := h.array(a.at, n.at); err == nil {
				v.arenas, v.maxArenas = a.at, n.at
			}
		}
	}
	if v.arenas == 0 && !started {
		return v, ErrNotStarted
	}
	if v.arenas == 0 {
		return v, fmt.Errorf("CPython %s: the array of arenas was not found in what %s at %v reads", l.rt.Version, statsFunction, function)
	}
	return l.counters(v, loads)
}

// counters finds the other variables: they are printed in this order.
func (l locator) counters(v variables, loads []load) (variables, error) {
	var sizes, nodes []load
	for _, x := range loads {
		switch {
		case x.at == v.arenas || x.at == v.maxArenas:
		case x.size == 8:
			sizes = append(sizes, x)
		case x.size == 4:
			nodes = append(nodes, x)
		}
	}
	// Before them is what tells whether pymalloc is in use.
	var ok bool
	v.allocated, v.highwater, ok = l.lastTwo(sizes, func(allocated, highwater uint64) bool {
		return allocated >= highwater && highwater > 0 && highwater <= maxArenas
	})
	if !ok {
		return v, fmt.Errorf("CPython %s: the counters of arenas were not found in what %s reads", l.rt.Version, statsFunction)
	}
	if l.rt.Layout.Pymalloc.InnerNode == 0 {
		return v, nil
	}
	v.mid, v.bottom, ok = l.lastTwo(nodes, func(mid, bottom uint64) bool {
		return uint32(mid) > 0 && uint32(bottom) >= uint32(mid) && uint32(bottom) <= 2*maxArenas
	})
	if !ok {
		return v, fmt.Errorf("CPython %s: the counters of its tree were not found in what %s reads", l.rt.Version, statsFunction)
	}
	return v, nil
}

// lastTwo are the last two variables, if they hold what they should.
func (l locator) lastTwo(all []load, right func(first, second uint64) bool) (first, second addr.Run, ok bool) {
	if len(all) < 2 {
		return 0, 0, false
	}
	first, second = all[len(all)-2].at, all[len(all)-1].at
	a, err := word(l.mem, first)
	b, err2 := word(l.mem, second)
	return first, second, err == nil && err2 == nil && right(a, b)
}

// A load is a variable that an instruction reads, relative to the program counter.
type load struct {
	at   addr.Run
	size int // bytes that are read
}

// Bounds of the code that is looked at.
const (
	maxInstructions = 4096
	maxPath         = 4096 // bytes of code that one read takes
	maxTries        = 64   // pairs of variables that may be the array of arenas and its length
)

// loads are the variables that a function reads, in the order in which they are there, each once.
// Jumps are followed, as compilers put the inner part of a function elsewhere; calls are not.
func (l locator) loads(function addr.Run) (all []load) {
	seen, known := map[addr.Run]bool{}, map[addr.Run]bool{}
	left := maxInstructions
	paths := []addr.Run{function}
	for len(paths) > 0 && left > 0 {
		at := paths[0]
		paths = paths[1:]
		code, base := []byte(nil), at
		for left > 0 && !seen[at] {
			left--
			if int(at-base)+16 > len(code) {
				b := make([]byte, maxPath)
				n, _ := l.mem.ReadAt(b, int64(at)) // the end of the code may be the end of the mapping
				if n < 16 {
					break
				}
				code, base = b[:n], at
			}
			inst, err := x86asm.Decode(code[at-base:], 64)
			if err != nil || inst.Len == 0 {
				break
			}
			seen[at] = true
			at += addr.Run(inst.Len)
			if x, ok := loadOf(inst, at); ok && !known[x.at] {
				known[x.at] = true
				all = append(all, x)
			}
			if to, ok := inst.Args[0].(x86asm.Rel); ok && inst.Op != x86asm.CALL {
				paths = append(paths, at+addr.Run(int64(to)))
			}
			if inst.Op == x86asm.JMP || inst.Op == x86asm.RET {
				break
			}
		}
	}
	return all
}

// loadOf is the variable that an instruction before next reads into a register.
func loadOf(inst x86asm.Inst, next addr.Run) (load, bool) {
	switch inst.Op {
	case x86asm.MOV, x86asm.MOVSXD, x86asm.CMP, x86asm.SUB, x86asm.ADD:
	default:
		return load{}, false
	}
	m, ok := inst.Args[1].(x86asm.Mem)
	if !ok || m.Base != x86asm.RIP || m.Index != 0 {
		return load{}, false
	}
	return load{next + addr.Run(m.Disp), inst.MemBytes}, true
}
