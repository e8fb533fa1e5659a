package inspect

import (
	"fmt"

	"hdb/internal/addr"
)

// A Generator is what is known of a generator, a coroutine or an asynchronous generator.
type Generator struct {
	Name  string // qualified
	State GeneratorState
	File  string // where it is, unless it is finished
	Line  int
	Waits addr.Run // the object that it awaits, 0 if that is not known
}

// A GeneratorState is what a generator does.
type GeneratorState string

// The states of generators.
const (
	Suspended GeneratorState = "suspended"
	Running   GeneratorState = "running"
	Created   GeneratorState = "not begun"
	Finished  GeneratorState = "finished"
)

// Generators reads a generator: whoever knows frames does.
type Generators func(r *Reader, at addr.Run) (Generator, error)

// generator writes where one is.
func (p *printer) generator(at addr.Run, c Class) error {
	g, err := p.r.generators(p.r, at)
	if err != nil {
		return err
	}
	if g.State == Finished {
		fmt.Fprintf(&p.out, "<%s %s, finished>", c.Name, g.Name)
		return nil
	}
	fmt.Fprintf(&p.out, "<%s %s, %s at %s:%d", c.Name, g.Name, g.State, g.File, g.Line)
	if g.Waits != 0 && !p.deep(" waiting for ", "") {
		p.out.WriteString(" waiting for ")
		p.value(g.Waits)
	}
	p.out.WriteByte('>')
	return nil
}
