package desk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/addr"
	"hdb/session/recordings"
	"hdb/session/variables"
	"hdb/values"
)

// AddressOf reads an address: a number, #N for the block that an event made, or an expression as x takes it.
func (e *Evaluator) AddressOf(in shell.Input, text string) (uint64, error) {
	if text == "" {
		return 0, fmt.Errorf("%s: an address must follow", in.Name)
	}
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		return n, nil
	}
	a, err := e.Address(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", in.Name, err)
	}
	return uint64(a), nil
}

// DumpMemory writes the memory from START to END. With a nil writer it only asks whether
// that can be done.
func (e *Evaluator) DumpMemory(ctx context.Context, w io.Writer, text string) error {
	first, rest := shell.SplitWord(text)
	if rest == "" {
		return errors.New("the end is missing: START END expected")
	}
	start, err := e.Address(first)
	if err != nil {
		return err
	}
	end, err := e.Address(rest)
	if err != nil {
		return err
	}
	if end <= start {
		return fmt.Errorf("the end %v is not after the start %v", end, start)
	}
	if w == nil {
		_, err := e.c.Session.Memory.Read(start, 1)
		return err
	}
	for start < end {
		if ctx.Err() != nil {
			return shell.ErrInterrupted
		}
		b, err := e.c.Session.Memory.Read(start, int(min(end-start, MaxDump)))
		if _, other := w.Write(b); other != nil || err != nil {
			return errors.Join(other, err)
		}
		start += addr.Run(len(b))
	}
	return nil
}

// Named is the address of a variable or function, or the one that an expression says.
func (e *Evaluator) Named(expr string) (addr.Run, error) {
	if p, err := e.c.Session.Values.Place(expr); err == nil && p.InMemory && !p.Local {
		return p.Addr, nil
	}
	return e.Address(expr)
}

// A Display is an expression that is shown at each stop.
type Display struct {
	Num  int
	Spec string // /FMT
	Expr string
	// Memory: what is at the address is shown, as x does.
	Memory bool
	Block  values.Block // of the variables in it, outside of which it is not shown
}

// Text is what display was given.
func (d *Display) Text() string {
	if d.Memory {
		return "x" + d.Spec + " " + d.Expr
	}
	return strings.TrimSpace(d.Spec + " " + d.Expr)
}

// An Evaluator computes expressions of the program. It keeps what print, display and x continue
// with.
type Evaluator struct {
	c        *Desk
	Displays []Display
	Next     int    // number of the next display
	memory   Memory // where x continues
}

// ValueView is a variable or a value for JSON.
type ValueView struct {
	Num   int    `json:"num,omitempty"`
	Name  string `json:"name,omitempty"`
	Type  string `json:"type,omitempty"`
	Expr  string `json:"expr,omitempty"`
	Value string `json:"value"`
}

// Variables shows variables of the selected frame; none says that there are none.
func (e *Evaluator) Variables(in shell.Input, none string, list func(*variables.Values, values.Options) ([]variables.NamedValue, error)) error {
	o, err := e.Options("")
	if err != nil {
		return err
	}
	vars, err := list(e.c.Session.Values, o)
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	views := make([]ValueView, 0, len(vars))
	for _, v := range vars {
		views = append(views, ValueView{Name: v.Name, Type: v.Type, Value: v.Value})
	}
	e.c.Show(in, struct {
		Variables []ValueView `json:"variables"`
	}{views}, func(out *screen.Output) {
		if len(vars) == 0 {
			out.Text(none + "\n")
		}
		for _, v := range vars {
			out.Text(v.Name + " = " + v.Value + "\n")
		}
	})
	return nil
}

// ShowDisplays prints all expressions of display, as after a stop.
func (e *Evaluator) ShowDisplays() {
	for i := range e.Displays {
		if d := &e.Displays[i]; e.c.Session.Values.Within(d.Block) {
			_ = e.ShowDisplay(d) // a global of a library may be gone
		}
	}
}

// ShowDisplay prints one.
func (e *Evaluator) ShowDisplay(d *Display) error {
	if d.Memory {
		return e.showExamined(d)
	}
	o, err := e.Options(d.Spec)
	if err != nil {
		return err
	}
	text, err := e.c.Session.Values.Show(d.Expr, o)
	if err != nil {
		return err
	}
	e.c.Show(shell.Input{Name: "display"}, ValueView{Num: d.Num, Expr: d.Expr, Value: text}, func(out *screen.Output) {
		out.Text(fmt.Sprintf("%d: %s = %s\n", d.Num, d.Text(), text))
	})
	return nil
}

// showExamined prints one that x prints: instructions or strings.
func (e *Evaluator) showExamined(d *Display) error {
	m := Memory{Count: 1}
	open, err := m.Parse(strings.TrimPrefix(d.Spec, "/"))
	if err != nil {
		return err
	}
	if open {
		m.unsized(values.Unit{})
	}
	a, err := e.Address(d.Expr)
	if err != nil {
		return err
	}
	m.next, m.known = a, true
	x := &examiner{ctx: context.Background(), c: e.c, m: &m}
	if err := x.run(); err != nil && len(x.rows) == 0 {
		return err
	}
	e.c.Show(shell.Input{Name: "display"}, struct {
		Num  int         `json:"num"`
		Expr string      `json:"expr"`
		Rows []memoryRow `json:"rows"`
	}{d.Num, d.Expr, x.rows}, func(out *screen.Output) {
		out.Text(fmt.Sprintf("%d: %s\n", d.Num, d.Text()))
		x.print(out)
	})
	return nil
}

// SetVar is `set var EXPRESSION`.
func (e *Evaluator) SetVar(expr string) error {
	if expr == "" {
		return errors.New("set var: an assignment must follow, as x = 1")
	}
	if err := e.c.Session.Values.Set(expr); err != nil {
		return fmt.Errorf("set var: %w", err)
	}
	return nil
}

// ShowConveniences is `show convenience`.
func (e *Evaluator) ShowConveniences(in shell.Input) error {
	o, err := e.Options("")
	if err != nil {
		return err
	}
	vars := e.c.Session.Scopes.Conveniences(o)
	views := make([]ValueView, 0, len(vars))
	for _, v := range vars {
		views = append(views, ValueView{Name: "$" + v.Name, Type: v.Type, Value: v.Value})
	}
	e.c.Show(in, struct {
		Variables []ValueView `json:"variables"`
	}{views}, func(out *screen.Output) {
		for _, v := range views {
			out.Text(v.Name + " = " + v.Value + "\n")
		}
	})
	return nil
}

// Address is what an expression says as an address; #N is the block that an event made. What it does not know, a
// symbol without debug information or a program of Go, the session may.
func (e *Evaluator) Address(expr string) (addr.Run, error) {
	a, _, err := e.addressed(expr)
	return a, err
}

// literal is the bytes of an array that does not are in memory, as "abc", and what its elements
// are. err is why it has no address.
func (e *Evaluator) literal(expr string, err error) ([]byte, values.Unit, error) {
	b, unit, other := e.c.Session.Patterns.Literal(expr)
	if other != nil {
		return nil, unit, err
	}
	return b, unit, nil
}

// addressed is Address, and which numbers are there by the expression's type.
func (e *Evaluator) addressed(expr string) (addr.Run, values.Unit, error) {
	if seq, ok := EventNumber(strings.TrimSpace(expr)); ok {
		block, err := recordings.BlockOf(e.c.Session.Queries, seq)
		return addr.Run(block), values.Unit{}, err
	}
	a, unit, err := e.c.Session.Values.Address(expr)
	var untyped *values.UntypedError
	var ambiguous *values.AmbiguousError
	if err == nil || errors.As(err, &untyped) || errors.As(err, &ambiguous) { // of symbols any would do
		return a, unit, err
	}
	if a, other := e.c.Session.Memory.Address(expr); other == nil {
		return a, values.Unit{}, nil
	}
	return 0, values.Unit{}, err
}

// How many places find finds at once: each is printed and takes memory.
const (
	UsualFound = 10_000 // without MAX
	MaxFound   = 1_000_000
)

// MaxDump bounds the bytes that are written at once.
const MaxDump = 1 << 20
