package console

import (
	"context"
	"errors"
	"fmt"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/addr"
	"hdb/session/variables"
	"hdb/values"
	"io"
	"strconv"
	"strings"
)

// addressOf reads an address: a number, or an expression as x takes it.
func (e *evaluator) addressOf(in shell.Input, text string) (uint64, error) {
	if text == "" {
		return 0, fmt.Errorf("%s: an address must follow", in.Name)
	}
	if n, err := strconv.ParseUint(text, 0, 64); err == nil {
		return n, nil
	}
	a, err := e.address(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", in.Name, err)
	}
	return uint64(a), nil
}

// dumpMemory writes the memory from START to END. With a nil writer it only asks whether
// that can be done.
func (e *evaluator) dumpMemory(ctx context.Context, w io.Writer, text string) error {
	first, rest := shell.SplitWord(text)
	if rest == "" {
		return errors.New("the end is missing: START END expected")
	}
	start, err := e.address(first)
	if err != nil {
		return err
	}
	end, err := e.address(rest)
	if err != nil {
		return err
	}
	if end <= start {
		return fmt.Errorf("the end %v is not behind the start %v", end, start)
	}
	if w == nil {
		_, err := e.c.s.Memory.Read(start, 1)
		return err
	}
	for start < end {
		if ctx.Err() != nil {
			return shell.ErrInterrupted
		}
		b, err := e.c.s.Memory.Read(start, int(min(end-start, maxDump)))
		if _, other := w.Write(b); other != nil || err != nil {
			return errors.Join(other, err)
		}
		start += addr.Run(len(b))
	}
	return nil
}

// named is the address of a variable or function, or the one that an expression says.
func (e *evaluator) named(expr string) (addr.Run, error) {
	if p, err := e.c.s.Values.Place(expr); err == nil && p.InMemory && !p.Local {
		return p.Addr, nil
	}
	return e.address(expr)
}

// A display is an expression that is shown at each stop.
type display struct {
	num  int
	spec string // /FMT
	expr string
	// memory: what is at the address is shown, as x does.
	memory bool
	block  values.Block // of the variables in it, outside of which it is not shown
}

// text is what display was given.
func (d *display) text() string {
	if d.memory {
		return "x" + d.spec + " " + d.expr
	}
	return strings.TrimSpace(d.spec + " " + d.expr)
}

// An evaluator computes expressions of the program. It keeps what print, display and x
// go on with.
type evaluator struct {
	c        *Desk
	displays []display
	next     int    // number of the next display
	memory   memory // where x goes on
}

type valueView struct {
	Num   int    `json:"num,omitempty"`
	Name  string `json:"name,omitempty"`
	Type  string `json:"type,omitempty"`
	Expr  string `json:"expr,omitempty"`
	Value string `json:"value"`
}

func (e *evaluator) variables(in shell.Input, none string, list func(*variables.Values, values.Options) ([]variables.NamedValue, error)) error {
	o, err := e.options("")
	if err != nil {
		return err
	}
	vars, err := list(e.c.s.Values, o)
	if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	views := make([]valueView, 0, len(vars))
	for _, v := range vars {
		views = append(views, valueView{Name: v.Name, Type: v.Type, Value: v.Value})
	}
	e.c.Show(in, struct {
		Variables []valueView `json:"variables"`
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

// showDisplays prints all expressions of display, as after a stop.
func (e *evaluator) showDisplays() {
	for i := range e.displays {
		if d := &e.displays[i]; e.c.s.Values.Within(d.block) {
			_ = e.showDisplay(d) // a global of a library may be gone
		}
	}
}

// showDisplay prints one.
func (e *evaluator) showDisplay(d *display) error {
	if d.memory {
		return e.showExamined(d)
	}
	o, err := e.options(d.spec)
	if err != nil {
		return err
	}
	text, err := e.c.s.Values.Show(d.expr, o)
	if err != nil {
		return err
	}
	e.c.Show(shell.Input{Name: "display"}, valueView{Num: d.num, Expr: d.expr, Value: text}, func(out *screen.Output) {
		out.Text(fmt.Sprintf("%d: %s = %s\n", d.num, d.text(), text))
	})
	return nil
}

// showExamined prints one that x prints: instructions or strings.
func (e *evaluator) showExamined(d *display) error {
	m := memory{count: 1}
	open, err := m.parse(strings.TrimPrefix(d.spec, "/"))
	if err != nil {
		return err
	}
	if open {
		m.unsized(values.Unit{})
	}
	a, err := e.address(d.expr)
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
	}{d.num, d.expr, x.rows}, func(out *screen.Output) {
		out.Text(fmt.Sprintf("%d: %s\n", d.num, d.text()))
		x.print(out)
	})
	return nil
}

// setVar is `set var EXPRESSION`.
func (e *evaluator) setVar(expr string) error {
	if expr == "" {
		return errors.New("set var: an assignment must follow, as x = 1")
	}
	if err := e.c.s.Values.Set(expr); err != nil {
		return fmt.Errorf("set var: %w", err)
	}
	return nil
}

// showConveniences is `show convenience`.
func (e *evaluator) showConveniences(in shell.Input) error {
	o, err := e.options("")
	if err != nil {
		return err
	}
	vars := e.c.s.Scopes.Conveniences(o)
	views := make([]valueView, 0, len(vars))
	for _, v := range vars {
		views = append(views, valueView{Name: "$" + v.Name, Type: v.Type, Value: v.Value})
	}
	e.c.Show(in, struct {
		Variables []valueView `json:"variables"`
	}{views}, func(out *screen.Output) {
		for _, v := range views {
			out.Text(v.Name + " = " + v.Value + "\n")
		}
	})
	return nil
}

// address is what an expression says as an address. What it does not know, a
// symbol without debug information or a program of Go, the session may.
func (e *evaluator) address(expr string) (addr.Run, error) {
	a, _, err := e.addressed(expr)
	return a, err
}

// literal is the bytes of an array that does not lie in memory, as "abc", and what its
// elements are. err is why it has no address.
func (e *evaluator) literal(expr string, err error) ([]byte, values.Unit, error) {
	b, unit, other := e.c.s.Patterns.Literal(expr)
	if other != nil {
		return nil, unit, err
	}
	return b, unit, nil
}

// addressed is address, and which numbers are there by the expression's type.
func (e *evaluator) addressed(expr string) (addr.Run, values.Unit, error) {
	a, unit, err := e.c.s.Values.Address(expr)
	var untyped *values.UntypedError
	var ambiguous *values.AmbiguousError
	if err == nil || errors.As(err, &untyped) || errors.As(err, &ambiguous) { // of symbols any would do
		return a, unit, err
	}
	if a, other := e.c.s.Memory.Address(expr); other == nil {
		return a, values.Unit{}, nil
	}
	return 0, values.Unit{}, err
}

// How many places find finds at once: each is printed and takes memory.
const (
	usualFound = 10_000 // without MAX
	maxFound   = 1_000_000
)

// maxDump bounds the bytes that are written at once.
const maxDump = 1 << 20
