package session

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"hdb/inferior"
	"hdb/inferior/corefile"
	"hdb/internal/addr"
	"hdb/session/allocators"
	"hdb/session/stepping"
	"hdb/session/stopped"
	"hdb/session/target"
	"hdb/session/variables"
	"hdb/session/view"
	"hdb/values"
	"hdb/values/calls"
)

// functionCalls has the program run functions for expressions.
type functionCalls struct {
	target   *target.Target
	sel      *view.Selection
	symbols  allocators.Symbols
	exec     *Execution
	stepping *stepping.Steps
	values   *variables.Values
}

// call has the selected thread call a function while the other threads are stopped. Then the thread
// is as it was, whether the function has returned or something stopped it: that is an error. What
// the function has changed in memory stays.
func (k *functionCalls) call(c calls.Call, result func(after *values.Frame) error) error {
	t, err := k.caller()
	if err != nil {
		return err
	}
	kept, err := t.Keep()
	if err != nil {
		return err
	}
	regs, vectors := kept.Regs, kept.Vectors.Clone()
	back, err := k.prepare(&regs, c)
	if err != nil {
		return err
	}
	for i, b := range c.Vector {
		if err := vectors.SetSSE(i, append(slices.Clone(b), make([]byte, 16-len(b))...)); err != nil {
			return err
		}
	}
	if err := errors.Join(t.SetRegs(regs), t.SetVectors(vectors)); err != nil {
		return errors.Join(err, t.Restore(kept))
	}
	process, pid, program, hits, sel := k.target.Proc, k.target.Proc.PID(), k.target.Names.Program, k.exec.demand.hits, k.sel.Cur
	err = k.run(t, back, addr.Run(regs.Rsp), result)
	if k.target.Proc != process || process.PID() != pid || k.target.Names.Program != program {
		return err // there is nothing to go back to
	}
	k.exec.demand.hits = hits
	if errors.Is(err, inferior.ErrThreadEnded) {
		k.sel.SelectDefault()
		return fmt.Errorf("the thread ended during the call: thread %d is selected", k.sel.Cur.Thread.Num)
	}
	k.sel.Cur = sel
	k.sel.WalkAgain()
	return errors.Join(err, t.Restore(kept))
}

// caller is the thread that calls, if it can.
func (k *functionCalls) caller() (*inferior.Thread, error) {
	switch {
	case k.target.Past:
		return nil, target.ErrPast
	case k.target.Mode() == target.Saved:
		return nil, variables.ErrCaptureValues
	case k.target.Proc == nil:
		return nil, k.target.Live()
	case k.sel.Cur.Thread == nil:
		return nil, target.ErrNoStack
	case k.target.Proc.IsGo():
		return nil, errors.New("functions of a Go program cannot be called: its runtime has stacks of its own")
	case k.target.Proc.ShadowStack():
		return nil, errors.New("the processor guards the program's return addresses (CET shadow stack): its functions cannot be called")
	}
	if _, in := k.sel.InProbe(); in {
		return nil, stepping.ErrInProbe
	}
	if pid := k.target.Proc.PID(); k.sel.Cur.Thread.Suspended() {
		return nil, fmt.Errorf("a signal has stopped the process (SIGSTOP or the like), and its functions cannot be called: continue, kill -CONT %d, then interrupt", pid)
	}
	return k.sel.Cur.Thread, k.outsideAllocator()
}

// outsideAllocator is the error of a thread that is inside of an allocator function: it
// may hold locks that the function called would wait for. Its first instruction has none.
func (k *functionCalls) outsideAllocator() error {
	st, err := k.sel.Stack(0)
	if err != nil {
		return err
	}
	// A module that cannot be read has no allocator that hdb knows.
	sites, _ := k.symbols.All(k.target.Proc.Modules(), k.symbols.Allocators.All())
	for i, f := range st.Frames {
		site := allocators.SiteOf(sites, f.Code.Lookup())
		if site != nil && (i > 0 || f.Code.Addr() != site.Addr) {
			return fmt.Errorf("the thread is in %s, whose locks it may hold: leave it first with finish", site.Function.Name)
		}
	}
	return nil
}

// prepare puts the arguments where the function expects them, and its return address, the program's
// first instruction: nothing else comes there again.
func (k *functionCalls) prepare(r *inferior.Registers, c calls.Call) (back addr.Run, err error) {
	auxv, err := k.target.Proc.Auxv()
	if err != nil {
		return 0, err
	}
	back = addr.Run(auxv[corefile.AtEntry])
	sp := r.Rsp - addr.RedZone
	word := func(a calls.Argument) (uint64, error) {
		if a.Data == nil {
			return a.N, nil
		}
		sp = (sp - uint64(len(a.Data))) &^ 15
		_, err := k.target.Proc.WriteAt(a.Data, int64(sp))
		return sp, err
	}
	to := []*uint64{&r.Rdi, &r.Rsi, &r.Rdx, &r.Rcx, &r.R8, &r.R9}
	for i, a := range c.General {
		if *to[i], err = word(a); err != nil {
			return 0, err
		}
	}
	above := binary.LittleEndian.AppendUint64(nil, uint64(back))
	for _, a := range c.Stack {
		n, err := word(a)
		if err != nil {
			return 0, err
		}
		above = binary.LittleEndian.AppendUint64(above, n)
	}
	sp = (sp-uint64(len(above)-8))&^15 - 8
	if _, err := k.target.Proc.WriteAt(above, int64(sp)); err != nil {
		return 0, err
	}
	const directionFlag = 1 << 10
	r.Rsp, r.Rip, r.Rax, r.Eflags = sp, uint64(c.Function), uint64(len(c.Vector)), r.Eflags&^directionFlag
	return back, nil
}

// run runs the function to its end, and has result read what it returned.
func (k *functionCalls) run(t *inferior.Thread, back, sp addr.Run, result func(*values.Frame) error) error {
	k.exec.alone = t
	defer func() { k.exec.alone = nil }()
	reached, stop, err := k.exec.RunToTargets([]stepping.RunTarget{{At: back, When: func(o *inferior.Thread) bool {
		regs, err := o.Regs()
		return err != nil || o == t && regs.SP() > sp
	}}})
	switch {
	case err != nil:
		return err
	case !reached:
		return errors.Join(k.stopped(t, stop), k.leaveProbe(t))
	}
	regs, err := t.Regs()
	if err != nil {
		return err
	}
	k.sel.Cur.Thread = t
	return result(&values.Frame{Regs: regs.Unwind(), Wide: k.values.Regs.Wide()})
}

// An CallEndedError is the error of a call during which the process ended.
type CallEndedError struct{ Report *stopped.Report }

func (e *CallEndedError) Error() string {
	return fmt.Sprintf("the program ended during the call: %v", e.Report.Exit())
}

// stopped is the error of a call by t that did not come to its end.
func (k *functionCalls) stopped(t *inferior.Thread, stop inferior.Stop) error {
	r := &stopped.Report{Reason: stop.Reason, Elapsed: k.target.Now()}
	if stop.Signal != nil {
		r.Add(&stopped.Signaled{Signal: stop.Signal})
	}
	r.AddEngine(stop)
	if stop.Reason == inferior.Exited || stop.Reason == inferior.Gone {
		k.exec.end(r)
		return &CallEndedError{r}
	}
	for _, h := range k.exec.demand.hits {
		r.Hits = appendStop(r.Hits, h.stop)
	}
	where := ""
	if regs, err := t.Regs(); err == nil {
		if frames := k.target.Names.Modules.Frames(addr.PC(regs.PC())); len(frames) > 0 {
			where = " in " + frames[0].Function
		}
	}
	how := "stopped" + where + " by " + r.Headline()
	if stop.Reason == inferior.Interrupted {
		how = "interrupted" + where
	}
	return fmt.Errorf("the call was %s, and undone except for its changes to memory", how)
}

// leaveProbe has the probe finish what it does for the thread, which the undoing would cut.
func (k *functionCalls) leaveProbe(t *inferior.Thread) error {
	if k.target.Proc == nil || k.target.Probe == nil {
		return nil
	}
	if _, gone := k.target.Proc.Exited(); gone {
		return nil
	}
	regs, err := t.Regs()
	if err != nil || !k.target.Probe.Covers(regs.PC()) {
		return err
	}
	_, err = k.stepping.ThroughProbe(t, regs, inferior.Stop{Reason: inferior.Stepped, Thread: t})
	return err
}
