package values

import (
	"errors"
	"math/big"
)

// wideIntegers computes with two integers of which one at least has more than 64 bits.
func (o operators) wideIntegers(op string, a, b Value) (Value, error) {
	x, err := o.prog.bigInteger(a)
	if err != nil {
		return Value{}, err
	}
	y, err := o.prog.bigInteger(b)
	if err != nil {
		return Value{}, err
	}
	t := a.Type.Strip()
	shift := op == "<<" || op == ">>"
	if !shift && (b.Type.Size() > t.Size() || b.Type.Size() == t.Size() && !b.Type.isSigned()) {
		t = b.Type.Strip()
	}
	if shift && t.Size() <= 8 {
		return o.integers(op, o.promote(t, t), truncate(x.Uint64(), 8), shiftCount(y, 64))
	}
	size := t.Size()
	x, y = wrapped(x, size, t.isSigned()), wrapped(y, size, t.isSigned() || shift)
	if less, ok := ordering[op]; ok {
		return o.truth(less(x.Cmp(y))), nil
	}
	z := new(big.Int)
	switch op {
	case "+":
		z.Add(x, y)
	case "-":
		z.Sub(x, y)
	case "*":
		z.Mul(x, y)
	case "/", "%":
		if y.Sign() == 0 {
			return Value{}, errors.New("division by zero")
		}
		rest := new(big.Int)
		if z.QuoRem(x, y, rest); op == "%" {
			z = rest
		}
	case "&":
		z.And(x, y)
	case "|":
		z.Or(x, y)
	case "^":
		z.Xor(x, y)
	case "<<":
		z.Lsh(x, uint(shiftCount(y, uint64(8*size))))
	case ">>":
		z.Rsh(x, uint(shiftCount(y, uint64(8*size))))
	default:
		return Value{}, typeErrorf("unknown operator %s", op)
	}
	return Value{Type: t, data: bigBytes(z, size)}, nil
}

// shiftCount is a number of bits, all of them for one that is out of range.
func shiftCount(n *big.Int, most uint64) uint64 {
	if n.Sign() < 0 || !n.IsUint64() {
		return most
	}
	return min(n.Uint64(), most)
}

// bigInteger is an integer of any size.
func (r *Reader) bigInteger(v Value) (*big.Int, error) {
	if v.bits > 0 || v.Type.Size() <= 8 {
		n, err := r.Uint(v)
		if v.Type.isSigned() {
			return big.NewInt(int64(n)), err
		}
		return new(big.Int).SetUint64(n), err
	}
	b, err := r.Bytes(v)
	return bigInt(b, v.Type.isSigned()), err
}

// wrapped is a number in the range of an integer type.
func wrapped(n *big.Int, size int64, signed bool) *big.Int {
	return bigInt(bigBytes(n, size), signed)
}

// bigBytes is the low bytes of a number in two's complement.
func bigBytes(n *big.Int, size int64) []byte {
	mod := new(big.Int).Lsh(big.NewInt(1), uint(8*size))
	be := new(big.Int).Mod(n, mod).FillBytes(make([]byte, size))
	for i, j := 0, len(be)-1; i < j; i, j = i+1, j-1 {
		be[i], be[j] = be[j], be[i]
	}
	return be
}
