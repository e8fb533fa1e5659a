package delve

import (
	"errors"
	"fmt"
	"unsafe"

	"hdb/inferior"
	"hdb/inferior/corefile"
	"hdb/inferior/x86"
	"hdb/internal/addr"

	"github.com/go-delve/delve/pkg/dwarf/op"
	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/amd64util"
	"github.com/go-delve/delve/pkg/proc/linutil"
)

// backend is the engine as delve wants to see a process.
type backend struct {
	// Embedded nil: for two methods whose signatures name a package internal
	// to delve, and which it calls only when SupportsBPF says so.
	proc.ProcessInternal

	p       *inferior.Process
	info    *proc.BinaryInfo
	points  proc.BreakpointMap
	traps   map[uint64]*inferior.Trap
	threads map[int]*thread
	active  bool           // delve steps; otherwise its breakpoints do not stop
	last    *inferior.Stop // a stop that was none of delve's breakpoints
}

func newBackend(p *inferior.Process) *backend {
	return &backend{p: p, info: proc.NewBinaryInfo("linux", "amd64", false), points: proc.NewBreakpointMap(),
		traps: map[uint64]*inferior.Trap{}, threads: map[int]*thread{}}
}

// sync brings the list of threads up to date.
func (b *backend) sync() {
	live := map[int]*thread{}
	for _, t := range b.p.Threads() {
		if live[t.TID] = b.threads[t.TID]; live[t.TID] == nil {
			live[t.TID] = &thread{b: b, t: t}
		}
	}
	b.threads = live
}

func (b *backend) BinInfo() *proc.BinaryInfo           { return b.info }
func (b *backend) Breakpoints() *proc.BreakpointMap    { return &b.points }
func (b *backend) Memory() proc.MemoryReadWriter       { return programMemory{b.p} }
func (b *backend) SupportsBPF() bool                   { return false }
func (b *backend) FollowExec(bool) error               { return nil }
func (b *backend) StartCallInjection() (func(), error) { return func() {}, nil }

func (b *backend) MemoryMap() ([]proc.MemoryMapEntry, error) {
	return nil, proc.ErrMemoryMapNotSupported
}

func (b *backend) RequestManualStop(*proc.ContinueOnceContext) error { return b.p.Interrupt() }

func (b *backend) EntryPoint() (uint64, error) {
	auxv, err := b.p.Auxv()
	return auxv[corefile.AtEntry], err
}

func (b *backend) FindThread(tid int) (proc.Thread, bool) {
	t, ok := b.threads[tid]
	return t, ok
}

func (b *backend) ThreadList() []proc.Thread {
	var all []proc.Thread
	for _, t := range b.p.Threads() {
		if g := b.threads[t.TID]; g != nil {
			all = append(all, g)
		}
	}
	return all
}

func (b *backend) Valid() (bool, error) {
	if st, ended := b.p.Exited(); ended {
		return false, proc.ErrProcessExited{Pid: b.p.PID(), Status: st.Code}
	}
	return true, nil
}

func (b *backend) WriteBreakpoint(bp *proc.Breakpoint) error {
	if bp.WatchType != 0 {
		return proc.ErrHWBreakUnsupported
	}
	bp.OriginalData = make([]byte, 1)
	if _, err := b.p.ReadAt(bp.OriginalData, int64(bp.Addr)); err != nil {
		return err
	}
	tr, err := b.p.Plant(addr.Run(bp.Addr), func(*inferior.Thread) inferior.Action {
		if b.active {
			return inferior.StopHere
		}
		return inferior.Resume
	})
	if err != nil {
		return err
	}
	b.traps[bp.Addr] = tr
	return nil
}

func (b *backend) EraseBreakpoint(bp *proc.Breakpoint) error {
	tr := b.traps[bp.Addr]
	delete(b.traps, bp.Addr)
	if tr == nil {
		return nil
	}
	return tr.Remove()
}

// programMemory is the inferior's memory without our int3s.
type programMemory struct{ p *inferior.Process }

func (m programMemory) ReadMemory(b []byte, a uint64) (int, error)  { return m.p.ReadAt(b, int64(a)) }
func (m programMemory) WriteMemory(a uint64, b []byte) (int, error) { return m.p.WriteAt(b, int64(a)) }

// group runs the process for delve.
type group struct{ b *backend }

// errOtherStop ends a step of delve's at a stop that is not its own.
var errOtherStop = errors.New("stopped for another reason")

func (g *group) ContinueOnce(*proc.ContinueOnceContext) (proc.Thread, proc.StopReason, error) {
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
		return nil, proc.StopExited, proc.ErrProcessExited{Pid: b.p.PID(), Status: s.Exit.Code}
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

func (g *group) StepInstruction(tid int) error {
	t := g.b.threads[tid]
	if t == nil {
		return fmt.Errorf("no thread %d", tid)
	}
	s, err := g.b.p.StepInstruction(t.t)
	g.b.sync()
	if err == nil && s.Reason != inferior.Stepped && s.Reason != inferior.Trapped {
		g.b.last = &s
		return errOtherStop
	}
	return err
}

// Detach and Close are the Process's own business.
func (g *group) Detach(int, bool) error { return nil }
func (g *group) Close() error           { return nil }

// thread is a thread as delve wants to see it.
type thread struct {
	b      *backend
	t      *inferior.Thread
	state  proc.BreakpointState
	common proc.CommonThread
}

func (t *thread) Breakpoint() *proc.BreakpointState    { return &t.state }
func (t *thread) ThreadID() int                        { return t.t.TID }
func (t *thread) BinInfo() *proc.BinaryInfo            { return t.b.info }
func (t *thread) ProcessMemory() proc.MemoryReadWriter { return t.b.Memory() }
func (t *thread) Common() *proc.CommonThread           { return &t.common }
func (t *thread) SoftExc() bool                        { return t.state.Breakpoint != nil }

func (t *thread) Registers() (proc.Registers, error) {
	r, err := t.t.Regs()
	if err != nil {
		return nil, err
	}
	// Both are the kernel's struct user_regs_struct.
	raw := *(*linutil.AMD64PtraceRegs)(unsafe.Pointer(&r))
	return linutil.NewAMD64Registers(&raw, t.vectors), nil
}

// vectors adds the registers that arguments of floating point are passed in.
func (t *thread) vectors(r *linutil.AMD64Registers) error {
	v, err := t.t.Vectors()
	if err != nil {
		return err
	}
	area := v.Area()
	r.Fpregset = &amd64util.AMD64Xstate{Xsave: area}
	if err := amd64util.AMD64XstateRead(area, true, r.Fpregset, 0); err != nil {
		return err
	}
	r.Fpregs = r.Fpregset.Decode()
	return nil
}

func (t *thread) RestoreRegisters(saved proc.Registers) error {
	r, ok := saved.(*linutil.AMD64Registers)
	if !ok {
		return fmt.Errorf("restore registers of kind %T", saved)
	}
	if r.Fpregset != nil {
		if v, ok := x86.VectorsOf(r.Fpregset.Xsave); !ok {
			return fmt.Errorf("vector registers: %d bytes of state", len(r.Fpregset.Xsave))
		} else if err := t.t.SetVectors(v); err != nil {
			return err
		}
	}
	return t.t.SetRegs(*(*inferior.Registers)(unsafe.Pointer(r.Regs)))
}

func (t *thread) SetReg(n uint64, v *op.DwarfRegister) error {
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

func (t *thread) SetCurrentBreakpoint(bool) error {
	t.state.Clear()
	r, err := t.t.Regs()
	if err == nil {
		t.state.Breakpoint = t.b.points.M[r.Rip]
	}
	return err
}

var (
	_ proc.ProcessGroup    = (*group)(nil)
	_ proc.ProcessInternal = (*backend)(nil)
	_ proc.Thread          = (*thread)(nil)
)
