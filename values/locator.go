package values

import (
	"errors"
	"fmt"
	"math"

	"hdb/internal/addr"
	"hdb/symbols/dwarf"
	"hdb/unwind"
	"hdb/unwind/dwop"
)

const (
	maxSteps  = 1 << 14 // of one value, nested expressions included
	maxStack  = 256
	maxNested = 8 // frame bases, entry values of entry values
)

// errLost is the cause when a value is not anywhere any more: <optimized out>.
var errLost = dwop.ErrLost

// A locator computes expressions of a unit in a frame. It implements the interfaces by
// which a dwop.Machine asks for what they refer to.
type locator struct {
	mod   *modState
	frame *Frame // nil: static storage only
	unit  *dwarf.Unit
	depth int  // of expressions that need others
	steps *int // taken for the value
	// object is what DW_OP_push_object_address pushes.
	object    addr.Run
	hasObject bool
}

// machine returns a machine for one expression.
func (l *locator) machine() *dwop.Machine {
	return &dwop.Machine{Context: l, Unit: l.operands(), MaxStack: maxStack, MaxSteps: maxSteps, Steps: l.steps}
}

func (l *locator) operands() dwop.Unit {
	return dwop.Unit{AddrSize: l.unit.AddrSize(), OffSize: l.unit.OffSize(), Bias: uint64(l.mod.Bias), Variables: l}
}

// locate computes where a value is.
func (l *locator) locate(expr []byte) ([]dwop.Location, error) { return l.machine().Locate(expr) }

// value computes a number. The initial stack is start.
func (l *locator) value(expr []byte, start ...uint64) (dwop.Num, error) {
	m := l.machine()
	for _, v := range start {
		m.Push(v)
	}
	return m.Value(expr)
}

// inner returns a locator for an expression that is evaluated as part of another one.
func (l *locator) inner(f *Frame) (*locator, error) {
	if l.depth >= maxNested {
		return nil, errors.New("DWARF expressions nest too deeply")
	}
	in := *l
	in.frame, in.depth = f, l.depth+1
	return &in, nil
}

// Register implements dwop.Context.
func (l *locator) Register(reg uint64) (uint64, error) {
	if l.frame == nil {
		return 0, errors.New("a register is needed, but no frame is selected")
	}
	b, ok := l.frame.register(reg)
	if !ok {
		return 0, missingRegister(reg)
	}
	return decodeUint(b), nil
}

// Load implements dwop.Context.
func (l *locator) Load(at addr.Run, size int) (uint64, error) { return l.mod.prog.ReadUint(at, size) }

// FrameBase implements dwop.Variables. The frame base is an expression, too (DWARF 5,
// section 3.3.5).
func (l *locator) FrameBase() (uint64, error) {
	s, err := l.frame.scope()
	if err != nil {
		return 0, err
	}
	v, ok := s.Physical.Attr(dwarf.AtFrameBase)
	if !ok {
		return 0, errors.New("the function has no frame base")
	}
	expr, ok := l.frame.location(s.Physical.Unit, v, l.mod)
	if !ok {
		return 0, errors.New("the function's frame base is not known here")
	}
	in, err := l.inner(l.frame)
	if err != nil {
		return 0, err
	}
	in.unit = s.Physical.Unit
	return in.number(expr)
}

// number computes a number that an attribute gives by an expression. One of class exprloc is
// the number itself, although it has the form of a place in memory.
func (l *locator) number(expr []byte) (uint64, error) {
	pieces, err := l.locate(expr)
	if err != nil {
		return 0, err
	}
	switch p := pieces[0]; p.Kind {
	case dwop.InMemory:
		return uint64(p.Addr), nil
	case dwop.Inline:
		return decodeUint(p.Data), nil
	case dwop.InRegister:
		return l.Register(p.Reg)
	}
	return 0, errLost
}

// CFA implements dwop.Variables.
func (l *locator) CFA() (addr.Run, error) {
	if l.frame == nil || l.frame.CFA == 0 {
		return 0, errors.New("the frame's address is unknown")
	}
	return l.frame.CFA, nil
}

// Object implements dwop.Variables.
func (l *locator) Object() (addr.Run, error) {
	if !l.hasObject {
		return 0, errors.New("expression needs an object, but none is given")
	}
	return l.object, nil
}

// ThreadLocal implements dwop.Variables.
func (l *locator) ThreadLocal(offset uint64) (addr.Run, error) {
	if l.mod.prog.TLS == nil {
		return 0, errors.New("thread-local storage: no thread to look at")
	}
	return l.mod.prog.TLS(l.mod.Module, offset)
}

// Indexed implements dwop.Variables.
func (l *locator) Indexed(i uint64) (uint64, error) {
	v, ok := l.unit.AddrX(i)
	if !ok {
		return 0, fmt.Errorf("expression needs entry %d of .debug_addr, which is not there", i)
	}
	return v, nil
}

// BaseType implements dwop.Variables.
func (l *locator) BaseType(offset uint64) (enc uint64, size int, err error) {
	d := l.unit.DIE(l.unit.Off + offset)
	if d.Tag() != dwarf.TagBaseType {
		return 0, 0, fmt.Errorf("expression needs a base type at %#x, where none is", offset)
	}
	e, _ := d.Attr(dwarf.AtEncoding)
	n, _ := d.Attr(dwarf.AtByteSize)
	if n.Uint() == 0 || n.Uint() > 16 {
		return 0, 0, fmt.Errorf("expression with a type of %d bytes", n.Uint())
	}
	return e.Uint(), int(n.Uint()), nil
}

// Call implements dwop.Variables.
func (l *locator) Call(op uint8, offset uint64) (expr []byte, in dwop.Unit, err error) {
	if op != dwop.CallRef {
		offset += l.unit.Off
	}
	d := l.unit.Data.DIE(offset)
	v, ok := d.Attr(dwarf.AtLocation)
	if !ok {
		return nil, dwop.Unit{}, nil
	}
	if expr, ok = l.frame.location(d.Unit, v, l.mod); !ok {
		return nil, dwop.Unit{}, nil
	}
	called := *l
	called.unit = d.Unit
	return expr, called.operands(), nil
}

// missingRegister is the error for a register without a value: a called function has
// overwritten it, or hdb does not read it.
func missingRegister(reg uint64) error {
	if reg > lastRegister || reg > uint64(unwind.RIP) && registerName(reg) == "" {
		return fmt.Errorf("in DWARF register %d, which hdb does not read", reg)
	}
	return errLost
}

// DW_ATE_* (section 7.8).
const (
	encAddress      = 0x01
	encBoolean      = 0x02
	encComplex      = 0x03
	encFloat        = 0x04
	encSigned       = 0x05
	encSignedChar   = 0x06
	encUnsigned     = 0x07
	encUnsignedChar = 0x08
	encUTF          = 0x10
)

// floatBits is the bits of a float or double of size bytes.
func floatBits(f float64, size int) uint64 {
	if size == 4 {
		return uint64(math.Float32bits(float32(f)))
	}
	return math.Float64bits(f)
}

// truncate is the low size bytes of a number.
func truncate(v uint64, size int) uint64 { return v & sizeMask(int64(size)) }

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
