package session

import (
	"slices"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
	"hdb/probe"
	"hdb/probe/filter"
	"hdb/session/target"
	"hdb/session/variables"
	"hdb/symbols"
	"hdb/unwind"
	"hdb/values"
)

// A screening is what a trap's screen was made for, or was not.
type screening struct {
	cond *cond.Cond // nil: there is none
	made bool       // there is a screen
}

// screen has breakpoints ask in the process what can be asked of their conditions there. All
// threads are stopped.
func (s *Stops) screen() {
	t := s.target.Proc.StoppedThread()
	if t == nil || s.target.Names.Program.Go() {
		return
	}
	for _, st := range s.demand.stops.All() {
		b := s.binds[st.ID]
		if b == nil || !st.Enabled || !onCode(st) || st.Kind == breakpoints.StopAddress {
			continue
		}
		want := screening{cond: st.Cond}
		if s.target.Settings.Probe == target.ProbeOff {
			want.cond = nil
		}
		for _, tr := range b.traps {
			if b.screened[tr].cond == want.cond {
				continue
			}
			if b.screened == nil {
				b.screened = map[*inferior.Trap]screening{}
			}
			sc := s.screenFor(st, tr.Addr(), want, t)
			_ = tr.SetScreen(sc) // threads are stopped: it has no errors
			want.made = sc != nil
			b.screened[tr] = want
		}
	}
}

// screenFor makes the screen of a trap; nil: all is asked outside of the process.
func (s *Stops) screenFor(st *breakpoints.Stop, at addr.Run, want screening, t *inferior.Thread) *inferior.Screen {
	if want.cond == nil || len(want.cond.Expressions()) == 0 {
		return nil
	}
	f, module, row, ok := s.placeOf(st, at)
	if !ok {
		return nil
	}
	var program filter.Program
	fault := symbols.Guard(func() {
		rule := values.CFARule{Reg: row.CFA.Reg, Offset: row.CFA.Offset}
		static := func(a addr.Run) bool { return a >= module.Low && a < module.High }
		program = filter.Compile(want.cond.Root(), filter.Operands{Expr: func(x *cond.Expr) filter.Term {
			return termOf(s.values.World.Decide(f, rule, x.Text), static)
		}})
	})
	if fault != nil || program.Always || program.Never {
		return nil
	}
	if s.screens == nil || s.screens.Process() != s.target.Proc {
		s.screens = probe.NewScreens(s.target.Proc)
	}
	sc, err := s.screens.Make(t, probe.Screened{
		At: at, Module: module, Low: row.Function.Low.Run(f.Module.Bias), High: row.Function.High.Run(f.Module.Bias), Asks: program,
	})
	if err != nil {
		return nil
	}
	return sc
}

// placeOf is the frame of which a stop's condition is asked at a place, its module, and what
// CFI says there.
func (s *Stops) placeOf(st *breakpoints.Stop, at addr.Run) (f *values.Frame, in inferior.Module, row unwind.Row, ok bool) {
	i := slices.IndexFunc(st.Places, func(p breakpoints.Place) bool { return p.Addr == at })
	m := slices.IndexFunc(s.target.Proc.Modules(), func(m inferior.Module) bool { return at >= m.Low && at < m.High })
	if i < 0 || m < 0 {
		return nil, in, row, false
	}
	f = variables.FrameOfPlace(s.target, st.Places[i])
	table, bias, known := s.target.Names.Modules.ModuleAt(at)
	if f == nil || !known || table == nil {
		return nil, in, row, false
	}
	if !onFunctions(st) {
		f.Inlined = 0 // as for enteredFrame
	}
	row, ok = table.RowAt(at.File(bias))
	return f, s.target.Proc.Modules()[m], row, ok && row.CFA.Kind == unwind.Register
}

// termOf is what can be decided of an expression in the terms of code. static tells the addresses
// that are there as long as the code is. Others, and what registers point to, may not be there: to
// read them could end the program.
func termOf(d values.Decidable, static func(addr.Run) bool) filter.Term {
	switch d.Op {
	case "":
		return filter.Term{}
	case "&&", "||", "!":
		t := filter.Term{Kind: map[string]filter.TermKind{"&&": filter.AllOf, "||": filter.AnyOf, "!": filter.Not}[d.Op]}
		for _, p := range d.Parts {
			t.Terms = append(t.Terms, termOf(p, static))
		}
		return t
	}
	p, ok := placeOfSpot(d.Spot, static)
	if !ok {
		return filter.Term{}
	}
	switch d.Spot.Size {
	case 1:
		p = p.U8()
	case 2:
		p = p.U16()
	case 4:
		p = p.U32()
	}
	return filter.Term{Kind: filter.Compared, Check: filter.Check{Place: p, Signed: d.Spot.Signed, Op: operators[d.Op], N: d.With}}
}

var operators = map[string]cond.Op{"==": cond.EQ, "!=": cond.NE, "<": cond.LT, "<=": cond.LE, ">": cond.GT, ">=": cond.GE}

// placeOfSpot is a spot in the terms of code.
func placeOfSpot(s values.Spot, static func(addr.Run) bool) (filter.Place, bool) {
	// By DWARF's numbers (System V ABI figure 3.36). r11 is none that filters can use.
	machine := [...]filter.Register{filter.RAX, filter.RDX, filter.RCX, filter.RBX, filter.RSI, filter.RDI, filter.RBP, filter.RSP,
		filter.R8, filter.R9, filter.R10, filter.R11, filter.R12, filter.R13, filter.R14, filter.R15}
	switch {
	case s.Kind == values.Static:
		return filter.Near(uint64(s.Addr)), static(s.Addr) && static(s.Addr+addr.Run(s.Size-1))
	case int(s.Reg) >= len(machine) || machine[s.Reg] == filter.R11:
		return filter.Place{}, false
	case s.Kind == values.InRegister:
		return filter.Reg(machine[s.Reg]), true
	}
	return filter.Mem(machine[s.Reg], int32(s.Disp)), s.Kind == values.OnStack
}
