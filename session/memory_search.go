package session

import (
	"bytes"

	"hdb/internal/addr"
	"hdb/values"
)

// searchPart is the bytes of memory that are searched at once.
const searchPart = 256 << 10

// Search calls found with each place where the memory has the pattern, until found or ended
// says that it is enough. An error is that of memory which cannot be read; what is before it
// was searched.
func (m *Memory) Search(s values.Search, found func(addr.Run) (more bool), ended func() bool) error {
	if err := m.target.Readable(); err != nil {
		return err
	}
	for s.Len >= uint64(len(s.Pattern)) && !ended() {
		n := min(s.Len, uint64(searchPart+len(s.Pattern)-1))
		b, err := m.Read(s.Start, int(n))
		for at := 0; ; {
			i := bytes.Index(b[at:], s.Pattern)
			if i < 0 {
				break
			}
			if !found(s.Start + addr.Run(at+i)) {
				return nil
			}
			at += i + 1
		}
		if err != nil {
			return err
		}
		step := n - uint64(len(s.Pattern)) + 1
		s.Start, s.Len = s.Start+addr.Run(step), s.Len-step
	}
	return nil
}

// Write writes bytes into the process's memory.
func (m *Memory) Write(a addr.Run, b []byte) error {
	if err := m.target.Live(); err != nil {
		return err
	}
	_, err := m.target.Proc.WriteAt(b, int64(a))
	m.sel.walkAgain()
	return err
}

// Patterns are the bytes that expressions name, for commands about memory.
type Patterns struct{ values *Values }

// Search reads what find is to look for, and where.
func (p *Patterns) Search(expr string, size int) (s values.Search, err error) {
	err = p.values.guarded(func(f *values.Frame) error {
		s, err = p.values.w.Search(f, expr, size)
		return err
	})
	return s, err
}

// Found sets $_ and $numfound by what was found.
func (p *Patterns) Found(at addr.Run, n int) { p.values.w.Found(at, n) }

// Literal is the bytes of an array that does not lie in memory, as a text that was typed,
// and what its elements are.
func (p *Patterns) Literal(expr string) (b []byte, unit values.Unit, err error) {
	err = p.values.guarded(func(f *values.Frame) error {
		b, unit, err = p.values.w.Literal(f, expr)
		return err
	})
	return b, unit, err
}

// Raw is the bytes of the value of an expression.
func (p *Patterns) Raw(expr string) (b []byte, err error) {
	err = p.values.guarded(func(f *values.Frame) error {
		b, err = p.values.w.Raw(f, expr)
		return err
	})
	return b, err
}
