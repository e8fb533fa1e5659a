package inferior

import (
	"errors"
	"fmt"
	"unsafe"

	"hdb/inferior/corefile"
	"hdb/internal/addr"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/amd64util"
	"github.com/go-delve/delve/pkg/proc/linutil"
)

// goBackend is the engine as delve wants to see a process.
type goBackend struct {
	// Embedded nil: for two methods whose signatures name a package internal
	// to delve, and which it calls only when SupportsBPF says so.
	proc.ProcessInternal

	p       *Process
	info    *proc.BinaryInfo
	points  proc.BreakpointMap
	traps   map[uint64]*Trap
	threads map[int]*goThread
	active  bool  // delve steps; otherwise its breakpoints do not stop
	last    *Stop // a stop that was none of delve's breakpoints
}

func newGoBackend(p *Process) *goBackend {
	return &goBackend{p: p, info: proc.NewBinaryInfo("linux", "amd64", false), points: proc.NewBreakpointMap(),
		traps: map[uint64]*Trap{}, threads: map[int]*goThread{}}
}

// sync brings the list of threads up to date.
func (b *goBackend) sync() {
	live := map[int]*goThread{}
	for _, t := range b.p.target.Threads() {
		if live[t.TID] = b.threads[t.TID]; live[t.TID] == nil {
			live[t.TID] = &goThread{b: b, t: t}
		}
	}
	b.threads = live
}

func (b *goBackend) BinInfo() *proc.BinaryInfo           { return b.info }
func (b *goBackend) Breakpoints() *proc.BreakpointMap    { return &b.points }
func (b *goBackend) Memory() proc.MemoryReadWriter       { return goMemory{b.p} }
func (b *goBackend) SupportsBPF() bool                   { return false }
func (b *goBackend) FollowExec(bool) error               { return nil }
func (b *goBackend) StartCallInjection() (func(), error) { return func() {}, nil }

func (b *goBackend) MemoryMap() ([]proc.MemoryMapEntry, error) {
	return nil, proc.ErrMemoryMapNotSupported
}

func (b *goBackend) RequestManualStop(*proc.ContinueOnceContext) error { return b.p.waker.Interrupt() }

func (b *goBackend) EntryPoint() (uint64, error) {
	auxv, err := b.p.target.Auxv()
	return auxv[corefile.AtEntry], err
}

func (b *goBackend) FindThread(tid int) (proc.Thread, bool) {
	t, ok := b.threads[tid]
	return t, ok
}

func (b *goBackend) ThreadList() []proc.Thread {
	var all []proc.Thread
	for _, t := range b.p.target.Threads() {
		if g := b.threads[t.TID]; g != nil {
			all = append(all, g)
		}
	}
	return all
}

func (b *goBackend) Valid() (bool, error) {
	if st, ended := b.p.target.Exited(); ended {
		return false, proc.ErrProcessExited{Pid: b.p.target.PID(), Status: st.Code}
	}
	return true, nil
}

func (b *goBackend) WriteBreakpoint(bp *proc.Breakpoint) error {
	if bp.WatchType != 0 {
		return proc.ErrHWBreakUnsupported
	}
	bp.OriginalData = make([]byte, 1)
	if _, err := b.p.memory.ReadAt(bp.OriginalData, int64(bp.Addr)); err != nil {
		return err
	}
	tr, err := b.p.traps.Plant(addr.Run(bp.Addr), func(*Thread) Action {
		if b.active {
			return StopHere
		}
		return Resume
	})
	if err != nil {
		return err
	}
	b.traps[bp.Addr] = tr
	return nil
}

func (b *goBackend) EraseBreakpoint(bp *proc.Breakpoint) error {
	tr := b.traps[bp.Addr]
	delete(b.traps, bp.Addr)
	if tr == nil {
		return nil
	}
	return tr.Remove()
}

// goMemory is the inferior's memory without our int3s.
type goMemory struct{ p *Process }

func (m goMemory) ReadMemory(b []byte, a uint64) (int, error)  { return m.p.memory.ReadAt(b, int64(a)) }
func (m goMemory) WriteMemory(a uint64, b []byte) (int, error) { return m.p.traps.WriteAt(b, int64(a)) }

// goGroup runs the process for delve.
type goGroup struct{ b *goBackend }

// errOtherStop ends a step of delve's at a stop that is not its own.
var errOtherStop = errors.New("stopped for another reason")

func (g *goGroup) ContinueOnce(*proc.ContinueOnceContext) (proc.Thread, proc.StopReason, error) {
	b := g.b
	for _, t := range b.threads {
		t.state.Clear()
	}
	s, err := b.p.Continue()
	b.sync()
	if err != nil {
		return nil, proc.StopUnknown, err
	}
	if s.Ended() {
		b.last = &s
		return nil, proc.StopExited, proc.ErrProcessExited{Pid: b.p.target.PID(), Status: s.Exit.Code}
	}
	th := b.threads[s.Thread.TID]
	own := false
	for _, tr := range s.Traps {
		own = own || b.traps[uint64(tr.Addr())] == tr
	}
	if !own || len(s.Traps) > 1 {
		b.last = &s
		return th, proc.StopUnknown, errOtherStop
	}
	th.state.Breakpoint = b.points.M[uint64(s.Traps[0].Addr())]
	return th, proc.StopBreakpoint, nil
}

func (g *goGroup) StepInstruction(tid int) error {
	t := g.b.threads[tid]
	if t == nil {
		return fmt.Errorf("no thread %d", tid)
	}
	s, err := g.b.p.StepInstruction(t.t)
	g.b.sync()
	if err == nil && s.Reason != Stepped && s.Reason != Trapped {
		g.b.last = &s
		return errOtherStop
	}
	return err
}

// Detach and Close are the Process's own business.
func (g *goGroup) Detach(int, bool) error { return nil }
func (g *goGroup) Close() error           { return nil }

// goThread is a thread as delve wants to see it.
type goThread struct {
	b      *goBackend
	t      *Thread
	state  proc.BreakpointState
	common proc.CommonThread
}

func (t *goThread) Breakpoint() *proc.BreakpointState    { return &t.state }
func (t *goThread) ThreadID() int                        { return t.t.TID }
func (t *goThread) BinInfo() *proc.BinaryInfo            { return t.b.info }
func (t *goThread) ProcessMemory() proc.MemoryReadWriter { return t.b.Memory() }
func (t *goThread) Common() *proc.CommonThread           { return &t.common }
func (t *goThread) SoftExc() bool                        { return t.state.Breakpoint != nil }

func (t *goThread) Registers() (proc.Registers, error) {
	r, err := t.t.Regs()
	if err != nil {
		return nil, err
	}
	// Both are the kernel's struct user_regs_struct.
	raw := *(*linutil.AMD64PtraceRegs)(unsafe.Pointer(&r))
	return linutil.NewAMD64Registers(&raw, t.vectors), nil
}

// vectors adds the registers that arguments of floating point are passed in.
func (t *goThread) vectors(r *linutil.AMD64Registers) error {
	v, err := t.t.Vectors()
	if err != nil {
		return err
	}
	r.Fpregset = &amd64util.AMD64Xstate{Xsave: v.area}
	if err := amd64util.AMD64XstateRead(v.area, true, r.Fpregset, 0); err != nil {
		return err
	}
	r.Fpregs = r.Fpregset.Decode()
	return nil
}

func (t *goThread) RestoreRegisters(saved proc.Registers) error {
	r, ok := saved.(*linutil.AMD64Registers)
	if !ok {
		return fmt.Errorf("restore registers of kind %T", saved)
	}
	if r.Fpregset != nil {
		if err := t.t.SetVectors(Vectors{r.Fpregset.Xsave}); err != nil {
			return err
		}
	}
	return t.t.SetRegs(*(*Registers)(unsafe.Pointer(r.Regs)))
}

func (t *goThread) SetReg(n uint64, v *op.DwarfRegister) error {
	r, err := t.Registers()
	if err != nil {
		return err
	}
	regs := r.(*linutil.AMD64Registers)
	if _, err := regs.SetReg(n, v); err != nil {
		return err
	}
	return t.RestoreRegisters(regs)
}

func (t *goThread) SetCurrentBreakpoint(bool) error {
	t.state.Clear()
	r, err := t.t.Regs()
	if err == nil {
		t.state.Breakpoint = t.b.points.M[r.Rip]
	}
	return err
}

var (
	_ proc.ProcessGroup    = (*goGroup)(nil)
	_ proc.ProcessInternal = (*goBackend)(nil)
	_ proc.Thread          = (*goThread)(nil)
)
