package view

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/session/target"
)

// Memory is the inferior's memory, and addresses of it as a user types them.
type Memory struct {
	target *target.Target
	sel    *Selection // whose registers an address may name
}

// NewMemory is the memory of a target; addresses may name registers of what is selected.
func NewMemory(t *target.Target, sel *Selection) *Memory { return &Memory{t, sel} }

// Read reads n bytes of the inferior's memory. What could be read is returned
// also with an error.
func (m *Memory) Read(a addr.Run, n int) ([]byte, error) {
	if err := m.target.Readable(); err != nil {
		return nil, err
	}
	if n < 0 {
		return nil, fmt.Errorf("read %d bytes at %v: not readable", n, a)
	}
	b := make([]byte, n)
	got, err := m.target.Image.ReadAt(b, int64(a)) // which says at what address
	return b[:got], err
}

// Code reads n bytes of code: of the process, or of the files while nothing runs.
func (m *Memory) Code(a addr.Run, n int) ([]byte, error) {
	if m.target.Readable() == nil {
		return m.Read(a, n)
	}
	b := make([]byte, n)
	if err := m.target.Names.Symbols.ReadFile(b, a); err != nil {
		return nil, err
	}
	return b, nil
}

// Mappings are the lines of /proc/PID/maps.
func (m *Memory) Mappings() ([]inferior.Mapping, error) {
	if err := m.target.Readable(); err != nil {
		return nil, err
	}
	return m.target.Image.Maps()
}

// RSS is how much memory of the process is resident, in bytes, counted page by page.
func (m *Memory) RSS() (uint64, error) {
	if err := m.target.Readable(); err != nil {
		return 0, err
	}
	return m.target.Image.RSS()
}

// Address evaluates an address as typed: a number, $register, a symbol with or
// without &, *FUNC's entry, and sums and differences of these.
func (m *Memory) Address(expr string) (addr.Run, error) {
	rest := strings.TrimSpace(expr)
	if rest == "" {
		return 0, errors.New("address: nothing given: use a number, $register or symbol")
	}
	var sum uint64
	sign := uint64(1)
	for first := true; rest != ""; first = false {
		if !first {
			switch rest[0] {
			case '+':
				sign = 1
			case '-':
				sign = ^uint64(0)
			default:
				return 0, fmt.Errorf("address: unexpected %q in %q", rest, expr)
			}
			rest = strings.TrimSpace(rest[1:])
		}
		term := rest
		if i := termEnd(rest); i >= 0 {
			term = rest[:i]
		}
		rest = strings.TrimSpace(rest[len(term):])
		v, err := m.term(strings.TrimSpace(term))
		if err != nil {
			return 0, err
		}
		sum += sign * v
	}
	return addr.Run(sum), nil
}

// termEnd is where the next + or - is outside of parentheses and template arguments, or -1.
func termEnd(s string) int {
	depth := 0
	for i, c := range s {
		switch c {
		case '(', '<':
			depth++
		case ')', '>':
			depth--
		case '+', '-':
			if depth <= 0 && i > 0 {
				return i
			}
		}
	}
	return -1
}

func (m *Memory) term(t string) (uint64, error) {
	if t == "" {
		return 0, errors.New("address: a number, $register or symbol is missing")
	}
	if t[0] == '$' {
		return m.sel.register(t[1:])
	}
	if t[0] >= '0' && t[0] <= '9' {
		v, err := strconv.ParseUint(t, 0, 64)
		if err != nil {
			return 0, fmt.Errorf("address %q: not a number of 64 bits", t)
		}
		return v, nil
	}
	name := strings.TrimLeft(t, "&*")
	if a, ok := m.target.Names.Symbols.Address(name); ok {
		return uint64(a), nil
	}
	return 0, fmt.Errorf("address: no symbol %q in the loaded modules: see info functions", name)
}
