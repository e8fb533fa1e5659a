package eval

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"hdb/internal/addr"
	"hdb/python/inspect"
	"hdb/python/layout"
)

// An operand is a value of a condition: one of these kinds.
type operand struct {
	number          *big.Float // ints exactly
	text            string
	isText, isBytes bool
	name            string         // None, True, False
	object          *inspect.Value // anything else
	at              addr.Run
}

// numberBits bounds ints: larger ones are refused (exactly).
const numberBits = 4096

func numberOf(text string) (*operand, error) {
	clean := strings.ReplaceAll(text, "_", "")
	if n, ok := new(big.Int).SetString(clean, 0); ok && len(clean) < 1000 {
		return &operand{number: ofInt(n)}, nil
	}
	f, err := strconv.ParseFloat(clean, 64)
	if err != nil || strings.ContainsAny(clean, "xXpPiInN") {
		return nil, fmt.Errorf("%q: a number is expected", text)
	}
	return &operand{number: big.NewFloat(f)}, nil
}

func ofInt(n *big.Int) *big.Float { return new(big.Float).SetPrec(numberBits).SetInt(n) }

// Condition reports whether a condition is true.
func Condition(r *inspect.Reader, names Names, text string) (bool, error) {
	n, err := parseCondition(text)
	if err != nil {
		return false, err
	}
	c := conditions{r.Bounded(inspect.MaxSearch), names}
	return c.truth(n)
}

type conditions struct {
	r     *inspect.Reader
	names Names
}

// truth is the truth of a node, as `if` takes it.
func (c conditions) truth(n *node) (bool, error) {
	switch n.op {
	case "and", "or":
		first, err := c.truth(n.parts[0])
		if err != nil || first == (n.op == "or") {
			return first, err
		}
		return c.truth(n.parts[1])
	case "not":
		ok, err := c.truth(n.parts[0])
		return !ok, err
	}
	v, err := c.compute(n)
	if err != nil {
		return false, err
	}
	switch {
	case v.number != nil:
		return v.number.Sign() != 0, nil
	case v.isText || v.isBytes:
		return v.text != "", nil
	case v.name != "":
		return v.name == "True", nil
	}
	if n, err := c.r.Length(*v.object); err == nil {
		return n > 0, nil
	}
	return c.r.PlainTruth(v.at)
}

// compute is the value of a node.
func (c conditions) compute(n *node) (*operand, error) {
	switch {
	case n.value != nil:
		return n.value, nil
	case n.leaf != "":
		v, err := Expression(c.r, c.names, n.leaf)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", n.leaf, err)
		}
		return c.operandOf(v)
	}
	switch n.op {
	case "tuple":
		return nil, errors.New("a tuple is allowed only after `in`")
	case "and", "or", "not":
		ok, err := c.truth(n)
		return boolean(ok), err
	case "negative":
		v, err := c.compute(n.parts[0])
		if err != nil || v.asNumber() == nil {
			return nil, errors.Join(err, errors.New("- takes a number"))
		}
		return &operand{number: new(big.Float).Neg(v.asNumber())}, nil
	}
	left, err := c.compute(n.parts[0])
	if err != nil {
		return nil, err
	}
	if all := n.parts[1]; all.op == "tuple" {
		ok, err := c.among(left, all.parts)
		if n.op != "in" && n.op != "not in" {
			err = fmt.Errorf("%s: a tuple is allowed only after `in`", n.op)
		}
		return boolean(ok == (n.op == "in")), err
	}
	right, err := c.compute(n.parts[1])
	if err != nil {
		return nil, err
	}
	switch n.op {
	case "+", "-", "*", "//", "%":
		return arithmetic(n.op, left, right)
	}
	ok, err := c.compare(n.op, left, right)
	return boolean(ok), err
}

// among reports whether a value is one of those of nodes.
func (c conditions) among(value *operand, all []*node) (bool, error) {
	for _, n := range all {
		o, err := c.compute(n)
		if err != nil {
			return false, err
		}
		if ok, err := equals(value, o); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func boolean(ok bool) *operand {
	if ok {
		return &operand{name: "True"}
	}
	return &operand{name: "False"}
}

// operandOf reads what a value is.
func (c conditions) operandOf(v inspect.Value) (*operand, error) {
	if literal := v.Literal(); literal != "" { // a length, or an element of a str
		if n, err := numberOf(literal); err == nil {
			return n, nil
		}
		e := evaluator{rest: literal}
		text, err := e.quoted(false)
		return &operand{text: text, isText: true}, err
	}
	o := &operand{object: &v, at: v.At}
	if v.At == 0 {
		return o, nil
	}
	switch name := c.r.Singleton(v.At); name {
	case "None", "True", "False":
		return &operand{name: name, at: v.At}, nil
	}
	class, err := c.r.ClassOf(v.At)
	if err != nil {
		return nil, err
	}
	switch {
	case class.Flags&layout.IsInt != 0:
		n, err := c.r.Number(v.At)
		if err != nil {
			return nil, err
		}
		exact, err := exactly(ofInt(n))
		if err != nil {
			return nil, err
		}
		o.number = exact.number
	case class.BuiltinBase() == "float":
		f, err := c.r.Float(v.At)
		if err != nil {
			return nil, err
		}
		if math.IsNaN(f) {
			return nil, errors.New("nan: it compares with nothing")
		}
		o.number = big.NewFloat(f)
	case class.Flags&layout.IsText != 0:
		o.isText = true
		o.text, err = c.r.Text(v.At)
	case class.Flags&layout.IsBytes != 0:
		var raw []byte
		o.isBytes = true
		raw, err = c.r.Bytes(v.At)
		o.text = string(raw)
	}
	return o, err
}

// asNumber is the number that a value is; True and False are 1 and 0.
func (o *operand) asNumber() *big.Float {
	switch o.name {
	case "True":
		return ofInt(big.NewInt(1))
	case "False":
		return ofInt(new(big.Int))
	}
	return o.number
}

func arithmetic(op string, left, right *operand) (*operand, error) {
	a, b := left.asNumber(), right.asNumber()
	if a == nil || b == nil {
		return nil, fmt.Errorf("%s takes two numbers", op)
	}
	if a.Prec() == floatBits || b.Prec() == floatBits {
		return floats(op, a, b)
	}
	z := new(big.Float).SetPrec(numberBits)
	switch op {
	case "+":
		return exactly(z.Add(a, b))
	case "-":
		return exactly(z.Sub(a, b))
	case "*":
		return exactly(z.Mul(a, b))
	}
	x, exactA := a.Int(nil)
	y, exactB := b.Int(nil)
	if exactA != big.Exact || exactB != big.Exact || y.Sign() == 0 {
		return nil, fmt.Errorf("%s takes two ints, of which the second is not 0", op)
	}
	quotient, rest := new(big.Int).DivMod(x, y, new(big.Int))
	if rest.Sign() != 0 && y.Sign() < 0 { // Python rounds down
		quotient.Sub(quotient, big.NewInt(1))
		rest.Add(rest, y)
	}
	if op == "%" {
		return &operand{number: ofInt(rest)}, nil
	}
	return &operand{number: ofInt(quotient)}, nil
}

// exactly is an int that was computed, which is right unless it was rounded.
func exactly(n *big.Float) (*operand, error) {
	if n.Acc() != big.Exact {
		return nil, fmt.Errorf("an int of more than %d bits", numberBits)
	}
	return &operand{number: n}, nil
}

// floatBits are those of a float, by which it is distinguished from an int.
const floatBits = 53

// floats computes as the processor does, of which one at least is no int.
func floats(op string, a, b *big.Float) (*operand, error) {
	x, _ := a.Float64()
	y, _ := b.Float64()
	switch op {
	case "+":
		x += y
	case "-":
		x -= y
	case "*":
		x *= y
	default:
		return nil, fmt.Errorf("%s takes two ints", op)
	}
	if math.IsNaN(x) {
		return nil, errors.New("nan: it compares with nothing")
	}
	return &operand{number: big.NewFloat(x)}, nil
}

// compare is the result of an operator that compares.
func (c conditions) compare(op string, left, right *operand) (bool, error) {
	switch op {
	case "is", "is not":
		return left.same(right) == (op == "is"), nil
	case "in", "not in":
		ok, err := c.contains(right, left)
		return ok == (op == "in"), err
	case "==", "!=":
		ok, err := equals(left, right)
		return ok == (op == "=="), err
	}
	order := 0
	switch a, b := left.asNumber(), right.asNumber(); {
	case a != nil && b != nil:
		order = a.Cmp(b)
	case left.isText && right.isText, left.isBytes && right.isBytes:
		order = strings.Compare(left.text, right.text)
	default:
		return false, fmt.Errorf("%s: only numbers, and texts, are compared so", op)
	}
	switch op {
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0, nil
	}
	return order >= 0, nil
}

// same reports whether two values are one object.
func (o *operand) same(p *operand) bool {
	return o.name != "" && o.name == p.name || o.at != 0 && o.at == p.at
}

// equals is == of numbers, texts, and whether two are one object.
func equals(left, right *operand) (bool, error) {
	switch a, b := left.asNumber(), right.asNumber(); {
	case left.same(right):
		return true, nil
	case a != nil && b != nil:
		return a.Cmp(b) == 0, nil
	case left.isText && right.isText, left.isBytes && right.isBytes:
		return left.text == right.text, nil
	case left.object != nil && left.number == nil && !left.isText && !left.isBytes && right.object != nil && right.number == nil && !right.isText && !right.isBytes:
		return false, errors.New("==: these objects compare by code, which hdb does not run: use `is` to test for the same object")
	}
	return false, nil
}

// maxContained bounds the elements that `in` compares.
const maxContained = 10000

// contains is `value in all`.
func (c conditions) contains(all, value *operand) (bool, error) {
	switch {
	case all.isText && value.isText, all.isBytes && value.isBytes:
		return strings.Contains(all.text, value.text), nil
	case all.object == nil || all.at == 0:
		return false, errors.New("in: a str, list, tuple, dict or deque must follow")
	}
	class, err := c.r.ClassOf(all.at)
	if err != nil {
		return false, err
	}
	if class.Flags&layout.IsDict != 0 {
		k := inspect.Key{Kind: inspect.KeyText, Text: value.text}
		switch n := value.asNumber(); {
		case value.isText:
		case n != nil && n.IsInt():
			k.Kind = inspect.KeyInt
			k.Number, _ = n.Int(nil)
		case value.name != "":
			k = inspect.Key{Kind: inspect.KeyName, Text: value.name}
		default:
			return false, errors.New("in: only a text or an int can be searched for in a dict")
		}
		v, err := c.r.OfDict(all.at, k)
		if none := (*inspect.NoKeyError)(nil); errors.As(err, &none) {
			return false, nil
		}
		return v.At != 0, err
	}
	n, err := c.r.Length(*all.object)
	if err != nil {
		return false, err
	}
	if n > maxContained {
		return false, fmt.Errorf("in: %d elements, at most %d are compared", n, maxContained)
	}
	for i := range int64(n) {
		v, err := c.r.Element(*all.object, i)
		if err != nil {
			return false, err
		}
		o, err := c.operandOf(v)
		if err != nil {
			return false, err
		}
		if ok, err := equals(o, value); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}
