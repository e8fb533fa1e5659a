package inspect

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// maxDigits bounds the digits of 30 bits of an int.
const maxDigits = 4096

// Number reads PyLongObject: its sign and its digits of 30 bits.
func (r *Reader) Number(at addr.Run) (*big.Int, error) {
	n, err := r.Count(at)
	if err != nil {
		return nil, err
	}
	digits, negative := r.layout.Int.Count(n)
	if digits < 0 || digits > maxDigits {
		return nil, fmt.Errorf("an int of %d digits of 30 bits", digits)
	}
	b, err := r.Read(at+addr.Run(r.layout.Int.Digits), int(digits)*layout.DigitSize)
	if err != nil {
		return nil, err
	}
	v := new(big.Int)
	for i := len(b) - 4; i >= 0; i -= 4 {
		v.Lsh(v, layout.DigitBits)
		v.Or(v, big.NewInt(int64(binary.LittleEndian.Uint32(b[i:]))))
	}
	if negative {
		v.Neg(v)
	}
	return v, nil
}

func (p *printer) integer(at addr.Run) error {
	v, err := p.r.Number(at)
	if err == nil {
		p.out.WriteString(v.String())
	}
	return err
}

// Float reads PyFloatObject.
func (r *Reader) Float(at addr.Run) (float64, error) {
	n, err := r.Word(at + addr.Run(r.layout.Float))
	return math.Float64frombits(n), err
}

func (p *printer) float(at addr.Run, _ Class) error {
	f, err := p.r.Float(at)
	if err != nil {
		return err
	}
	p.out.WriteString(floatRepr(f, 64))
	return nil
}

// floatRepr is repr() of a float of 32 or 64 bits.
func floatRepr(f float64, bits int) string {
	text := floatText(f, bits)
	if !strings.ContainsAny(text, ".en") {
		text += ".0"
	}
	return text
}

// floatText is the shortest text that is the number: with an exponent where that is below -4
// or above 15 (PyOS_double_to_string, 'r').
func floatText(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strings.ToLower(strconv.FormatFloat(f, 'g', -1, bits)), "+")
	}
	text := strconv.FormatFloat(f, 'e', -1, bits)
	_, exponent, _ := strings.Cut(text, "e")
	if n, err := strconv.Atoi(exponent); err == nil && n >= -4 && n < 16 {
		return strconv.FormatFloat(f, 'f', -1, bits)
	}
	return text
}

func (p *printer) complex(at addr.Run, _ Class) error {
	b, err := p.r.Read(at+addr.Run(p.r.layout.Float), 16)
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	p.out.WriteString(complexRepr(math.Float64frombits(le.Uint64(b)), math.Float64frombits(le.Uint64(b[8:])), 64))
	return nil
}

// complexRepr is repr() of a complex number whose parts have 32 or 64 bits.
func complexRepr(re, im float64, bits int) string {
	text := floatText(im, bits) + "j"
	if re == 0 && !math.Signbit(re) {
		return text
	}
	if !strings.HasPrefix(text, "-") {
		text = "+" + text
	}
	return "(" + floatText(re, bits) + text + ")"
}

// rangeOf is the start, the end, the step and the length of a range.
func (r *Reader) rangeOf(at addr.Run) (n [4]*big.Int, err error) {
	b, err := r.Read(at+addr.Run(r.layout.Range), 32)
	if err != nil {
		return n, err
	}
	for i := range n {
		if n[i], err = r.Number(pointerIn(b, 8*i)); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (p *printer) rangeObject(at addr.Run, _ Class) error {
	n, err := p.r.rangeOf(at)
	if err != nil {
		return err
	}
	fmt.Fprintf(&p.out, "range(%v, %v", n[0], n[1])
	if n[2].Cmp(big.NewInt(1)) != 0 {
		fmt.Fprintf(&p.out, ", %v", n[2])
	}
	p.out.WriteByte(')')
	return nil
}
