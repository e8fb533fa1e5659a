package view

import (
	"hdb/goruntime"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/unwind"
)

// goThreads are the threads of the process that run goroutines.
type goThreads struct {
	running map[uint64]goThread // by the address of the g that they run
	byNum   map[int]goThread    // by the number of the thread
}

// A goThread is a thread of the process, and what the runtime says of it.
type goThread struct {
	thread *inferior.Thread
	m      goruntime.Thread
}

// threads finds which thread runs which goroutine. The runtime notes the kernel's number of a
// thread as the program's own PID namespace has it; where that is another one, threads are
// recognized by the g that their thread-local storage has, in programs that are no library: the
// word below the thread pointer.
func (g *Goroutines) threads(r *goruntime.Runtime) (goThreads, error) {
	list, err := r.Threads()
	if err != nil {
		return goThreads{}, err
	}
	byG, byTID := map[uint64]goruntime.Thread{}, map[uint64]goruntime.Thread{}
	for _, m := range list {
		for _, at := range []uint64{m.G0, m.GSignal, m.Curg} {
			if at != 0 {
				byG[at] = m
			}
		}
		byTID[m.TID] = m
	}
	memory := g.target.Go.Memory(g.target.Image)
	all := goThreads{map[uint64]goThread{}, map[int]goThread{}}
	for _, t := range g.target.Image.Threads() {
		var at uint64 // what no register says is found by the TID
		if regs, err := t.Regs(); err == nil {
			at, _ = memory.Word(regs.FsBase - 8)
		}
		m, ok := byG[at]
		if !ok {
			m, ok = byTID[uint64(t.TID)]
		}
		if !ok {
			continue
		}
		all.byNum[t.Num] = goThread{t, m}
		if m.Curg != 0 {
			all.running[m.Curg] = goThread{t, m}
		}
	}
	return all, nil
}

// frames walks the stack of a goroutine, at most limit frames, which are valid until the next
// walk.
func (g *Goroutines) frames(x goruntime.Goroutine, threads goThreads, limit int) unwind.Stack {
	here, first := g.registers(x, threads)
	raw := g.walker.Shown(here, limit)
	if len(raw.Frames) > 0 && raw.Frames[0].PC.Addr() == first.Addr() { // not if it is in the probe's code
		raw.Frames[0].PC = first
	}
	return raw
}

// registers are those that the goroutine's own stack is walked from, and what is known of its
// PC.
func (g *Goroutines) registers(x goruntime.Goroutine, threads goThreads) (unwind.Regs, addr.Code) {
	on := func(sp uint64) bool { return x.StackLow < sp && sp <= x.StackHigh }
	if t, ok := threads.running[x.At]; ok {
		regs, err := t.thread.Regs()
		switch {
		case err != nil:
		case on(uint64(regs.SP())):
			return regs.Unwind(), addr.PC(regs.PC())
		case on(t.m.VDSOSP): // on the thread's own stack, to ask the vDSO for the time
			return parked(t.m.VDSOPC, t.m.VDSOSP, 0), addr.Return(addr.Run(t.m.VDSOPC))
		default:
			if here, ok := g.interrupted(t.thread, on); ok {
				return here, addr.PC(here.PC())
			}
		}
	}
	if x.Status == goruntime.Syscall && !on(x.SP) {
		return parked(x.CallPC, x.CallSP, 0), addr.Return(addr.Run(x.CallPC))
	}
	here := parked(x.PC, x.SP, x.BP)
	if x.PC == x.StartPC { // it has not begun
		return here, addr.PC(addr.Run(x.PC))
	}
	return here, addr.Return(addr.Run(x.PC))
}

// interrupted is where a thread that handles a signal left the goroutine's stack.
func (g *Goroutines) interrupted(t *inferior.Thread, on func(sp uint64) bool) (unwind.Regs, bool) {
	raw, err := g.walker.Raw(t, maxGoWhere, addr.Code{})
	if err != nil {
		return unwind.Regs{}, false
	}
	for i, f := range raw.Frames {
		if i > 0 && raw.Frames[i-1].Signal && on(uint64(f.Regs.SP())) {
			return f.Regs, true
		}
	}
	return unwind.Regs{}, false
}

// parked are the registers of a goroutine that does not run, as far as they are kept.
func parked(pc, sp, bp uint64) (r unwind.Regs) {
	r.Set(unwind.RIP, pc)
	r.Set(unwind.RSP, sp)
	if bp != 0 {
		r.Set(unwind.RBP, bp)
	}
	return r
}

// Stack is the stack of a goroutine, with the go statement that made it behind its end.
func (g *Goroutines) Stack(x Goroutine, limit int) (names.Stack, error) {
	r, err := g.runtimeOf()
	if err != nil {
		return names.Stack{}, err
	}
	threads, err := g.threads(r)
	if err != nil {
		return names.Stack{}, err
	}
	st := g.target.Names.Stack(g.frames(x.Goroutine, threads, limit))
	return withCreator(st, x.Creator), nil
}

// withCreator adds the go statement to a stack that ends where goroutines do.
func withCreator(st names.Stack, creator *names.Frame) names.Stack {
	n := len(st.Frames)
	if creator == nil || n == 0 || st.Truncated != "" || st.Frames[n-1].Function != goruntime.GoExit {
		return st
	}
	made := *creator
	made.Num, made.Made, made.How = n, true, unwind.CFI
	st.Frames = append(st.Frames, made)
	return st
}

// OfThread is the goroutine that a thread runs; ok is false if it runs none.
func (g *Goroutines) OfThread(t *inferior.Thread) (x Goroutine, ok bool) {
	r, err := g.runtimeOf()
	if err != nil || t == nil {
		return Goroutine{}, false
	}
	threads, err := g.threads(r)
	if err != nil {
		return Goroutine{}, false
	}
	m, ok := threads.byNum[t.Num]
	if !ok || m.m.Curg == 0 {
		return Goroutine{}, false
	}
	raw, err := r.Goroutine(m.m.Curg)
	if err != nil {
		return Goroutine{}, false
	}
	return g.describe(raw, threads, g.clockNow(), &goPlaces{g: g, known: map[addr.Code]*goPlace{}}), true
}

// ofThreads are the numbers of the goroutines that threads run, by the threads' numbers.
func (g *Goroutines) ofThreads() map[int]uint64 {
	r, err := g.runtimeOf()
	if err != nil {
		return nil
	}
	threads, err := g.threads(r)
	if err != nil {
		return nil
	}
	ids := map[int]uint64{}
	for num, t := range threads.byNum {
		if t.m.Curg == 0 {
			continue
		}
		if x, err := r.Goroutine(t.m.Curg); err == nil {
			ids[num] = x.ID
		}
	}
	return ids
}
