package inspect

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"hdb/internal/addr"
)

// dtypes are numpy's types of elements by their numbers (ndarraytypes.h, NPY_TYPES).
var dtypes = []string{"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "int64", "uint64",
	"float32", "float64", "float128", "complex64", "complex128", "complex256", "object", "bytes", "str", "void", "datetime64", "timedelta64", "float16"}

// elementSizes are those of the elements that element reads, by number.
var elementSizes = map[int]int{0: 1, 1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 8, 8: 8, 9: 8, 10: 8, 11: 4, 12: 8, 14: 8, 15: 16, 17: 8}

// maxDimensions is NPY_MAXDIMS of numpy 2.
const maxDimensions = 64

// An ndarray is what PyArrayObject has of an array (ndarraytypes.h), which is the same in numpy 1 and 2.
type ndarray struct {
	r              *Reader
	data, descr    addr.Run
	shape, strides []int64 // elements and bytes along each axis
	dtype          int     // its number, in dtypes or not
	bigEndian      bool
}

// ndarray reads the array at an address.
func (r *Reader) ndarray(at addr.Run) (*ndarray, error) {
	head := addr.Run(r.layout.Object.Size)
	b, err := r.Read(at+head, 48)
	if err != nil {
		return nil, err
	}
	a := &ndarray{r: r, data: pointerIn(b, 0), descr: pointerIn(b, 40)}
	nd := intIn(b, 8)
	if nd < 0 || nd > maxDimensions {
		return nil, fmt.Errorf("an array of %d dimensions", nd)
	}
	for from, to := range map[int]*[]int64{16: &a.shape, 24: &a.strides} {
		raw, err := r.Read(pointerIn(b, from), 8*nd)
		if err != nil {
			return nil, err
		}
		for i := 0; i < len(raw); i += 8 {
			*to = append(*to, int64(pointerIn(raw, i)))
		}
	}
	d, err := r.Read(a.descr+head, 16)
	if err != nil {
		return nil, err
	}
	a.dtype, a.bigEndian = intIn(d, 12), d[10] == '>'
	return a, nil
}

// typeName is what numpy calls the type of the elements.
func (a *ndarray) typeName() string {
	name := fmt.Sprintf("type %d", a.dtype)
	if a.dtype >= 0 && a.dtype < len(dtypes) {
		name = dtypes[a.dtype]
	}
	if a.bigEndian {
		name = ">" + name
	}
	return name
}

// shapeText is the shape as Python writes a tuple.
func (a *ndarray) shapeText() string {
	var text []string
	for _, n := range a.shape {
		text = append(text, strconv.FormatInt(n, 10))
	}
	if len(text) == 1 {
		return "(" + text[0] + ",)"
	}
	return "(" + strings.Join(text, ", ") + ")"
}

// size is how many elements there are, as the product of what hostile memory may say.
func (a *ndarray) size() int64 {
	n := int64(1)
	for _, along := range a.shape {
		n *= along
	}
	return n
}

// attribute is one of those that are computed of the struct alone.
func (a *ndarray) attribute(name string) (Value, bool) {
	size, known := elementSizes[a.dtype]
	number := func(n int64) (Value, bool) { return Value{text: strconv.FormatInt(n, 10)}, true }
	switch name {
	case "shape":
		return Value{text: a.shapeText()}, true
	case "ndim":
		return number(int64(len(a.shape)))
	case "size":
		return number(a.size())
	case "dtype":
		return Value{text: "dtype('" + a.typeName() + "')"}, true
	case "itemsize":
		if known {
			return number(int64(size))
		}
	case "nbytes":
		if known {
			return number(int64(size) * a.size())
		}
	}
	return Value{}, false
}

// element is a[i] of an array of one dimension.
func (a *ndarray) element(index int64) (Value, error) {
	size, ok := elementSizes[a.dtype]
	if len(a.shape) != 1 || !ok {
		return Value{}, fmt.Errorf("[%d] of an array of %d dimensions of %s is not read", index, len(a.shape), a.typeName())
	}
	b, err := a.r.Read(a.data+addr.Run(index*a.strides[0]), size)
	if err != nil {
		return Value{}, err
	}
	if dtypes[a.dtype] == "object" {
		return Value{At: pointerIn(b, 0)}, nil
	}
	text, _ := scalarText(dtypes[a.dtype], b, a.bigEndian)
	return Value{text: text}, nil
}

// scalarText writes a number of one of numpy's types, as repr() of Python's own.
func scalarText(dtype string, b []byte, bigEndian bool) (string, bool) {
	var order binary.ByteOrder = binary.LittleEndian
	if bigEndian {
		order = binary.BigEndian
	}
	switch dtype {
	case "bool":
		if b[0] != 0 {
			return "True", true
		}
		return "False", true
	case "int8":
		return strconv.Itoa(int(int8(b[0]))), true
	case "uint8":
		return strconv.Itoa(int(b[0])), true
	case "int16":
		return strconv.Itoa(int(int16(order.Uint16(b)))), true
	case "uint16":
		return strconv.Itoa(int(order.Uint16(b))), true
	case "int32":
		return strconv.Itoa(int(int32(order.Uint32(b)))), true
	case "uint32":
		return strconv.FormatUint(uint64(order.Uint32(b)), 10), true
	case "int64":
		return strconv.FormatInt(int64(order.Uint64(b)), 10), true
	case "uint64":
		return strconv.FormatUint(order.Uint64(b), 10), true
	case "float32":
		return floatRepr(float64(math.Float32frombits(order.Uint32(b))), 32), true
	case "float64":
		return floatRepr(math.Float64frombits(order.Uint64(b)), 64), true
	case "complex64":
		return complexRepr(float64(math.Float32frombits(order.Uint32(b))), float64(math.Float32frombits(order.Uint32(b[4:]))), 32), true
	case "complex128":
		return complexRepr(math.Float64frombits(order.Uint64(b)), math.Float64frombits(order.Uint64(b[8:])), 64), true
	}
	return "", false
}

// array tells the shape of numpy's array and the type of its elements.
func (p *printer) array(at addr.Run, c Class) error {
	a, err := p.r.ndarray(at)
	if err != nil {
		return err
	}
	fmt.Fprintf(&p.out, "<%s of shape %s, dtype %s>", c.Name, a.shapeText(), a.typeName())
	return nil
}

// numpyScalar writes a scalar, whose value is behind the object's head (arrayscalars.h).
func (p *printer) numpyScalar(at addr.Run, c Class) error {
	name := strings.TrimSuffix(strings.TrimPrefix(c.Name, "numpy."), "_") // bool_ of numpy 1
	b, err := p.r.Read(at+addr.Run(p.r.layout.Object.Size), 16)
	if err != nil {
		return err
	}
	text, ok := scalarText(name, b, false)
	if !ok {
		text = fmt.Sprintf("... at %v", at)
	}
	fmt.Fprintf(&p.out, "numpy.%s(%s)", name, text)
	return nil
}
