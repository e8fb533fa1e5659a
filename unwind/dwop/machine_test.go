package dwop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"hdb/internal/addr"
)

// program is a context that knows all: register n is 100 times n, memory holds its own
// addresses.
type program struct{ called []byte }

var errNoRegister = errors.New("register is lost")

func (program) Register(n uint64) (uint64, error) {
	if n > 16 {
		return 0, errNoRegister
	}
	return 100 * n, nil
}

func (program) Load(at addr.Run, size int) (uint64, error) {
	if at > 0x10000 {
		return 0, fmt.Errorf("no memory at %v", at)
	}
	return Num{V: uint64(at)}.As(0, uint8(size)).V, nil
}

func (program) FrameBase() (uint64, error)                  { return 0x2000, nil }
func (program) CFA() (addr.Run, error)                      { return 0x3000, nil }
func (program) Object() (addr.Run, error)                   { return 0x4000, nil }
func (program) ThreadLocal(offset uint64) (addr.Run, error) { return addr.Run(0x5000 + offset), nil }
func (program) Indexed(i uint64) (uint64, error)            { return 16 * i, nil }
func (program) Parameter(offset uint64) (Num, error)        { return Num{V: offset, Size: 8}, nil }

// BaseType has types of float, double, int, unsigned char and long double at 1 to 5.
func (program) BaseType(offset uint64) (enc uint64, size int, err error) {
	switch offset {
	case 1:
		return encFloat, 4, nil
	case 2:
		return encFloat, 8, nil
	case 3:
		return encSigned, 4, nil
	case 4:
		return 0x08, 1, nil
	case 5:
		return encFloat, 16, nil
	}
	return 0, 0, errors.New("no such type")
}

func (program) EntryValue(expr []byte) (Num, error) { return Num{V: uint64(len(expr)), Size: 8}, nil }

func (p program) Call(op uint8, offset uint64) ([]byte, Unit, error) {
	if offset == 0 {
		return nil, Unit{}, nil
	}
	return p.called, Unit{AddrSize: 8, OffSize: 4, Variables: p}, nil
}

func newMachine(p program) *Machine {
	steps := 0
	return &Machine{Context: p, Unit: Unit{AddrSize: 8, OffSize: 4, Bias: 0x100, Variables: p}, MaxStack: 32, MaxSteps: 500, Steps: &steps}
}

// code is an expression of bytes and eight-byte numbers.
func code(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case uint64:
			out = binary.LittleEndian.AppendUint64(out, p)
		case []byte:
			out = append(out, p...)
		}
	}
	return out
}

func TestValue(t *testing.T) {
	f32 := func(f float32) uint64 { return uint64(math.Float32bits(f)) }
	float := func(f float32) []byte { // DW_OP_const_type of float
		return append([]byte{ConstType, 1, 4}, binary.LittleEndian.AppendUint32(nil, math.Float32bits(f))...)
	}
	for _, c := range []struct {
		name string
		expr []byte
		want uint64
		err  string
	}{
		{name: "fbreg", expr: code(Fbreg, 0x70), want: 0x1ff0},
		{name: "CFA", expr: code(CallFrameCFA), want: 0x3000},
		{name: "object", expr: code(PushObject, Lit0+4, Plus), want: 0x4004},
		{name: "TLS", expr: code(Lit0+8, FormTLS), want: 0x5008},
		{name: "addr is moved", expr: code(Addr, uint64(0x20)), want: 0x120},
		{name: "addrx is moved", expr: code(Addrx, 2), want: 0x120},
		{name: "constx is not", expr: code(Constx, 2), want: 0x20},
		{name: "register", expr: code(Reg0 + 5), want: 500},
		{name: "stack value", expr: code(Lit0+9, StackValue), want: 9},
		{name: "entry value", expr: code(EntryValue, 1, Reg0), want: 1},
		{name: "parameter", expr: code(GNUParameterRef, 7, 0, 0, 0), want: 7},
		{name: "call computes on the same stack", expr: code(Lit0+2, Call2, 1, 0), want: 6},
		{name: "call of nothing", expr: code(Lit0+2, Call4, 0, 0, 0, 0), want: 2},
		{name: "float plus", expr: code(float(1.5), float(2), Plus), want: f32(3.5)},
		{name: "float neg", expr: code(float(1.5), Neg), want: f32(-1.5)},
		{name: "float abs", expr: code(float(-1.5), Abs), want: f32(1.5)},
		{name: "float less", expr: code(float(1), float(2), Lt), want: 1},
		{name: "float to double", expr: code(float(2.5), Convert, 2), want: math.Float64bits(2.5)},
		{name: "float to int", expr: code(float(-2.5), Convert, 3), want: 0xfffffffe},
		{name: "int to double", expr: code(ConstType, 3, 4, 0xfe, 0xff, 0xff, 0xff, Convert, 2), want: math.Float64bits(-2)},
		{name: "bits of a float", expr: code(float(1), Reinterpret, 0), want: f32(1)},
		{name: "int is truncated", expr: code(RegvalType, 3, 4, Lit0, Plus), want: 300 & 0xff},
		{name: "int divides with a sign", expr: code(ConstType, 3, 4, 0xf8, 0xff, 0xff, 0xff, ConstType, 3, 4, 2, 0, 0, 0, Div), want: 0xfffffffc},
		{name: "unsigned divides without", expr: code(ConstType, 4, 1, 0xf8, ConstType, 4, 1, 2, Div), want: 0x7c},
		{name: "typed load", expr: code(Const2u, 0x34, 0x12, DerefType, 1, 4), want: 0x34},

		{name: "pieces", expr: code(Reg0, Piece, 4), err: "pieces instead of a number"},
		{name: "implicit pointer", expr: code(ImplicitPointer, 1, 0, 0, 0, 0), err: "optimized out"},
		{name: "lost register", expr: code(Regx, 17), err: "register is lost"},
		{name: "float modulo", expr: code(float(1), float(1), Mod), err: "floating-point"},
		{name: "long double", expr: code(Lit0, Convert, 5), err: "computes with 16 bytes"},
		{name: "unknown type", expr: code(Lit0, Convert, 9), err: "no such type"},
		{name: "unknown operation", expr: code(0xe9), err: "operation 0xe9"},
		{name: "cut entry value", expr: code(EntryValue, 3, Reg0), err: "data ends early"},
	} {
		got, err := newMachine(program{called: code(Lit0+3, Mul)}).Value(c.expr)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %#x, error %v; expected %q", c.name, got.V, err, c.err)
			}
		case err != nil || got.V != c.want:
			t.Errorf("%s: %#x, error %v; expected %#x", c.name, got.V, err, c.want)
		}
	}
}

func TestLocate(t *testing.T) {
	for _, c := range []struct {
		name string
		expr []byte
		want string
		err  string
	}{
		{name: "memory", expr: code(Fbreg, 8), want: "[{Kind:1 Addr:0x2008 Reg:0 Data:[] Target:0 Off:0 Bits:0 BitOff:0}]"},
		{name: "register", expr: code(Reg0 + 3), want: "[{Kind:2 Addr:0x0 Reg:3 Data:[] Target:0 Off:0 Bits:0 BitOff:0}]"},
		{name: "bytes", expr: code(ImplicitValue, 2, 7, 8), want: "[{Kind:3 Addr:0x0 Reg:0 Data:[7 8] Target:0 Off:0 Bits:0 BitOff:0}]"},
		{name: "pointer", expr: code(ImplicitPointer, 9, 0, 0, 0, 4), want: "[{Kind:4 Addr:0x0 Reg:0 Data:[] Target:9 Off:4 Bits:0 BitOff:0}]"},
		{name: "pieces, one lost", expr: code(Reg0, Piece, 4, Piece, 4),
			want: "[{Kind:2 Addr:0x0 Reg:0 Data:[] Target:0 Off:0 Bits:32 BitOff:0} {Kind:0 Addr:0x0 Reg:0 Data:[] Target:0 Off:0 Bits:32 BitOff:0}]"},
		{name: "bits", expr: code(Reg0+1, BitPiece, 3, 5), want: "[{Kind:2 Addr:0x0 Reg:1 Data:[] Target:0 Off:0 Bits:3 BitOff:5}]"},
		{name: "empty", err: "optimized out"},
		{name: "nothing", expr: code(Nop), err: "leaves nothing"},
		{name: "endless", expr: code(Skip, 0xfd, 0xff), err: "more than 500 operations"},
		{name: "too deep", expr: code(Lit0, Skip, 0xfc, 0xff), err: "stack of more than 32"},
		{name: "calls itself", expr: code(Call2, 1, 0), err: "calls too deeply"},
	} {
		got, err := newMachine(program{called: code(Call2, 1, 0)}).Locate(c.expr)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %+v, error %v; expected %q", c.name, got, err, c.err)
			}
		case err != nil || fmt.Sprintf("%+v", got) != c.want:
			t.Errorf("%s: %+v, error %v; expected %s", c.name, got, err, c.want)
		}
	}
}

// FuzzMachine computes foreign expressions, which must stay within their bounds.
func FuzzMachine(f *testing.F) {
	for _, seed := range [][]byte{
		code(Fbreg, 0x6c), code(Reg0, Piece, 4, Piece, 4), code(Skip, 0xfd, 0xff), code(Lit0+1, Bra, 0xfc, 0xff), code(EntryValue, 1, Reg0+5, StackValue),
		code(RegvalType, 0, 1, Convert, 3), code(BitPiece, 3, 1), code(ImplicitPointer, 0, 0, 0, 0, 0), code(Call2, 1, 0), code(DerefSize, 9), code(Lit0, Lit0, Div),
		code(ConstType, 3, 4, 0, 0, 0, 0x80, ConstType, 3, 4, 0xff, 0xff, 0xff, 0xff, Div), code(Lit0, Not, DerefType, 3, 1),
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, expr, called []byte) {
		m := newMachine(program{called: called})
		pieces, err := m.Locate(expr)
		if *m.Steps > m.MaxSteps+1 || m.depth > m.MaxStack {
			t.Errorf("%d steps, %d entries", *m.Steps, m.depth)
		}
		if err == nil && (len(pieces) == 0 || len(pieces) > maxPieces) {
			t.Errorf("%d pieces", len(pieces))
		}
		quick := newMachine(program{called: called})
		quick.Regs, quick.Known = []uint64{0, 100, 200, 300, 400, 500, 600, 700}, 0xf7
		if same, other := quick.Locate(expr); fmt.Sprint(same, other) != fmt.Sprint(pieces, err) {
			t.Errorf("%v, error %v; with known registers %v, error %v", pieces, err, same, other)
		}
		m.Unit.Variables = nil // as in call frame information
		m.Reset()
		*m.Steps = 0
		m.Push(1)
		m.Value(expr)
	})
}
