package delve

import (
	"errors"
	"fmt"

	"hdb/internal/addr"

	"github.com/go-delve/delve/pkg/proc"
)

// A Memory is the memory of a package's variable of Go, or of a part of one.
type Memory struct {
	Name string // the expression
	Addr addr.Run
	Size int
}

// PackageMemory finds the memory of an expression that begins with a package's variable: such a one has the same
// meaning in each frame.
func (g *Program) PackageMemory(expr string) (m *Memory, err error) {
	defer caught(&err)
	if err := g.refresh(nil); err != nil {
		return nil, err
	}
	v, err := g.packageScope(g.target.Memory()).EvalExpression(expr, Limits{}.config())
	switch {
	case err != nil:
		return nil, oneLine(err)
	case v.Addr == 0 || v.Flags&proc.VariableFakeAddress != 0 || v.RealType == nil:
		return nil, fmt.Errorf("%s: the value is not in memory", expr)
	}
	return &Memory{expr, addr.Run(v.Addr), int(v.RealType.Common().ByteSize)}, nil
}

// Holding is the value that the memory has if these are its bytes. What they point to is read as it is now.
func (g *Program) Holding(m *Memory, b []byte, l Limits) (out Value, err error) {
	defer caught(&err)
	if err := g.refresh(nil); err != nil {
		return out, err
	}
	v, err := g.packageScope(heldMemory{g.target.Memory(), uint64(m.Addr), b}).EvalExpression(m.Name, l.config())
	if err != nil {
		return out, oneLine(err)
	}
	if v.Addr != uint64(m.Addr) {
		return out, fmt.Errorf("%s: moved from %v to %#x", m.Name, m.Addr, v.Addr)
	}
	left := maxNodes
	return valueOf(v, &left), nil
}

// packageScope is where package's variables alone have names.
func (g *Program) packageScope(mem proc.MemoryReadWriter) *proc.EvalScope {
	return &proc.EvalScope{Mem: mem, BinInfo: g.target.BinInfo()}
}

// heldMemory is memory in which other bytes are at an address.
type heldMemory struct {
	proc.MemoryReadWriter
	at    uint64
	bytes []byte
}

func (m heldMemory) ReadMemory(b []byte, at uint64) (int, error) {
	n, err := m.MemoryReadWriter.ReadMemory(b, at)
	end := at + uint64(n)
	if from, to := max(at, m.at), min(end, m.at+uint64(len(m.bytes))); from < to {
		copy(b[from-at:to-at], m.bytes[from-m.at:])
	}
	return n, err
}

func (heldMemory) WriteMemory(uint64, []byte) (int, error) {
	return 0, errors.New("writing to memory is refused")
}
