package session

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/unwind"
)

// Read reads n bytes of the inferior's memory. What could be read is returned
// also with an error.
func (s *Session) Read(a addr.Run, n int) ([]byte, error) {
	if err := s.live(); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	got, err := s.proc.ReadAt(b, int64(a)) // which says at what address
	return b[:got], err
}

// Registers are the selected thread's. In a frame further out, those that its
// CFI could restore are as that frame will see them.
func (s *Session) Registers() ([]Register, error) {
	f, err := s.liveFrame()
	if err != nil {
		return nil, err
	}
	regs, err := s.sel.thread.Regs()
	if err != nil {
		return nil, err
	}
	rows := regs.Named()
	if f.Regs == regs.Unwind() {
		return asRegisters(rows, nil), nil
	}
	return asRegisters(rows, &f.Regs), nil
}

// A Register of a frame.
type Register struct {
	Name  string
	Value uint64
	Known bool // false: the frame's callees did not save it
}

// asRegisters names the values; those of a frame further out come from its
// CFI, which restores general registers only.
func asRegisters(rows []inferior.NamedRegister, frame *unwind.Regs) []Register {
	out := make([]Register, len(rows))
	for i, r := range rows {
		out[i] = Register{Name: r.Name, Value: r.Value, Known: true}
		if reg, ok := regNumber(r.Name); ok && frame != nil {
			out[i].Value, out[i].Known = frame.Get(reg)
		}
	}
	return out
}

// Mappings are the lines of /proc/PID/maps.
func (s *Session) Mappings() ([]inferior.Mapping, error) {
	if err := s.live(); err != nil {
		return nil, err
	}
	return s.proc.Maps()
}

// Address evaluates an address as typed: a number, $register, a symbol with or
// without &, *FUNC's entry, and sums and differences of these.
func (s *Session) Address(expr string) (addr.Run, error) {
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
		v, err := s.term(strings.TrimSpace(term))
		if err != nil {
			return 0, err
		}
		sum += sign * v
	}
	return addr.Run(sum), nil
}

// termEnd is where the next + or - stands outside of parentheses and template
// arguments, or -1.
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

func (s *Session) term(t string) (uint64, error) {
	if t == "" {
		return 0, errors.New("address: a number, $register or symbol is missing")
	}
	if t[0] == '$' {
		return s.register(t[1:])
	}
	if t[0] >= '0' && t[0] <= '9' {
		v, err := strconv.ParseUint(t, 0, 64)
		if err != nil {
			return 0, fmt.Errorf("address %q: not a number of 64 bits", t)
		}
		return v, nil
	}
	name := strings.TrimLeft(t, "&*")
	if a, ok := s.names.Symbols.Address(name); ok {
		return uint64(a), nil
	}
	return 0, fmt.Errorf("address: no symbol %q in the loaded modules: see info functions", name)
}

func (s *Session) register(name string) (uint64, error) {
	alias := map[string]string{"pc": "rip", "sp": "rsp", "fp": "rbp"}
	if a, ok := alias[name]; ok {
		name = a
	}
	regs, err := s.Registers()
	if err != nil {
		return 0, err
	}
	for _, r := range regs {
		if r.Name == name {
			if !r.Known {
				return 0, fmt.Errorf("$%s: not saved in this frame", name)
			}
			return r.Value, nil
		}
	}
	return 0, fmt.Errorf("$%s: no such register: see info registers", name)
}

// regNumber is the DWARF number of the register that gdb calls name.
func regNumber(name string) (unwind.Reg, bool) {
	for r := unwind.RAX; r <= unwind.RIP; r++ {
		if r.String() == name {
			return r, true
		}
	}
	return 0, false
}
