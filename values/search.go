package values

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"hdb/internal/addr"
)

// A Search is what memory is searched for, and where.
type Search struct {
	Start   addr.Run
	Len     uint64
	Pattern []byte
}

// Search reads START, END, VALUE... or START, +LENGTH, VALUE.... END is the last byte. size is
// the bytes of each number, 0: by its type. A text is searched for with its NUL.
func (w *World) Search(f *Frame, src string, size int) (Search, error) {
	e := w.evaluator(f)
	e.mayCall = true
	n, err := e.parse(src)
	if err != nil {
		return Search{}, err
	}
	var list []*node
	for ; n.op == ","; n = n.a {
		list = append(list, n.b)
	}
	list = append(list, n)
	slices.Reverse(list)
	if len(list) < 3 {
		return Search{}, errors.New("START, +LENGTH or END, and the values to search for must follow")
	}
	start, err := e.number64(list[0])
	if err != nil {
		return Search{}, err
	}
	end, err := e.number64(list[1])
	if err != nil {
		return Search{}, err
	}
	s := Search{Start: addr.Run(start), Len: end}
	if plus := list[1].op == nodeUnary && list[1].text == "+"; !plus {
		if end < start || end-start == math.MaxUint64 {
			return Search{}, fmt.Errorf("the end %#x comes before the start %#x", end, start)
		}
		s.Len = end - start + 1
	}
	for _, n := range list[2:] {
		b, err := e.pattern(n, size)
		if err != nil {
			return Search{}, err
		}
		if s.Pattern = append(s.Pattern, b...); len(s.Pattern) > maxRead {
			return Search{}, fmt.Errorf("more than %d bytes are not searched for", maxRead)
		}
	}
	if len(s.Pattern) == 0 {
		return Search{}, errors.New("the pattern has no bytes")
	}
	return s, nil
}

// number64 is an address or a number.
func (e *evaluator) number64(n *node) (uint64, error) {
	v, err := e.eval(n)
	if err != nil {
		return 0, err
	}
	a, err := e.ops.address(e.prog.unref(v))
	return uint64(a), err
}

// pattern is the bytes of a value. A number has size bytes, unless size is 0.
func (e *evaluator) pattern(n *node, size int) ([]byte, error) {
	v, err := e.eval(n)
	if err != nil {
		return nil, err
	}
	v = e.prog.unref(v)
	if size > 0 && (v.Type.isInteger() || v.Type.Strip().Kind == Pointer) {
		x, err := e.prog.Uint(v)
		return encodeUint(x, size), err
	}
	return e.prog.Bytes(v)
}

// Found sets $_ to the last address that was found, and $numfound to how many were.
func (w *World) Found(at addr.Run, n int) {
	if n > 0 {
		w.setVar("_", Number(w.voidPointer(), uint64(at)))
	}
	w.setVar("numfound", Number(w.cType("int"), uint64(n)))
}

// Raw is the bytes of the value of an expression.
func (w *World) Raw(f *Frame, src string) ([]byte, error) {
	v, err := w.Eval(f, src)
	if err != nil {
		return nil, err
	}
	return w.Bytes(w.unref(v))
}

// Literal is the bytes of an array that does not are in memory, and what its elements are.
func (w *World) Literal(f *Frame, src string) ([]byte, Unit, error) {
	v, err := w.Eval(f, src)
	if err != nil {
		return nil, Unit{}, err
	}
	if v = w.unref(v); v.Type.Strip().Kind != Array || v.place != nowhere || v.err != nil {
		return nil, Unit{}, fmt.Errorf("a value of type %s is not an array in the expression", v.Type)
	}
	b, err := w.Bytes(v)
	return b, v.unit(), err
}
