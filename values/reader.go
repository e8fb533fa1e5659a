package values

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"hdb/internal/addr"
)

// A Reader reads values, their members, and the values that they point to.
type Reader struct {
	Mem io.ReaderAt // offsets are run addresses
}

// ReadMemory reads n bytes of memory. A MemoryError has the address of the first byte that
// cannot be read.
func (r *Reader) ReadMemory(a addr.Run, n int) ([]byte, error) {
	if n < 0 || n > maxRead {
		return nil, fmt.Errorf("value of %d bytes: more than %d are not read at once", n, maxRead)
	}
	b := make([]byte, n)
	if n == 0 {
		return b, nil
	}
	if r.Mem == nil || int64(a) < 0 {
		return nil, &MemoryError{a}
	}
	got, _ := r.Mem.ReadAt(b, int64(a))
	if got < n {
		return nil, &MemoryError{a + addr.Run(max(got, 0))}
	}
	return b, nil
}

// ReadUint reads an unsigned integer of n bytes, at most eight.
func (r *Reader) ReadUint(a addr.Run, n int) (uint64, error) {
	b, err := r.ReadMemory(a, n)
	return decodeUint(b), err
}

// maxArgument bounds the text of a pointer to characters that have no end.
const maxArgument = 64 << 10

// textAt reads characters of width bytes each up to the first NUL.
func (r *Reader) textAt(a addr.Run, width int64) ([]byte, error) {
	const page = 4096
	out := []byte{}
	for len(out) < maxArgument {
		part := int64(page - a%page)
		b, err := r.ReadMemory(a, int(max(part-part%width, width)))
		if err != nil {
			return utf8Of(out, width), err
		}
		if before, ended := upToNUL(b, width); ended {
			return utf8Of(append(out, before...), width), nil
		}
		out, a = append(out, b...), a+addr.Run(len(b))
	}
	return append(utf8Of(out, width), "..."...), nil
}

// upToNUL is what is before the first character that is NUL.
func upToNUL(b []byte, width int64) (before []byte, ended bool) {
	if i := zeroAt(b, int(width)); i >= 0 {
		return b[:i], true
	}
	return b, false
}

// utf8Of is characters of width bytes each, in UTF-8.
func utf8Of(b []byte, width int64) []byte {
	switch width {
	case 2:
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = uint16(decodeUint(b[2*i : 2*i+2]))
		}
		return []byte(string(utf16.Decode(units)))
	case 4:
		var out []byte
		for ; len(b) >= 4; b = b[4:] {
			out = utf8.AppendRune(out, rune(decodeUint(b[:4])))
		}
		return out
	}
	return b
}

// textOf is the characters of a text.
func (r *Reader) textOf(t *Text) ([]byte, error) {
	if t.Data != nil {
		return t.Data, nil
	}
	width := uint64(1)
	if t.Elem != nil {
		width = uint64(max(t.Elem.Size(), 1))
	}
	if t.Len > maxRead/width {
		return nil, fmt.Errorf("text of %d characters", t.Len)
	}
	return r.ReadMemory(t.Addr, int(t.Len*width))
}

// Bytes is the bytes of a value. It reads memory unless the value was loaded.
func (r *Reader) Bytes(v Value) ([]byte, error) {
	if v.err != nil {
		return nil, v.err
	}
	if v.synthetic() {
		return nil, errors.New("value is a synthetic pointer")
	}
	if v.lost != nil {
		for _, l := range v.lost {
			if l {
				return nil, errLost
			}
		}
	}
	if v.place == inMemory && v.data == nil {
		if v.bits > 0 {
			return r.ReadMemory(v.addr, int((v.bitOff+v.bits+7)/8))
		}
		return r.ReadMemory(v.addr, int(v.Type.Size()))
	}
	return v.data, nil
}

// Uint is the value of an integer or pointer. Signed integers are sign-extended.
func (r *Reader) Uint(v Value) (uint64, error) {
	b, err := r.Bytes(v)
	if err != nil {
		return 0, err
	}
	if v.bits > 0 {
		var n uint64
		for i := v.bits - 1; i >= 0; i-- {
			at := v.bitOff + i
			n <<= 1
			if at/8 < int64(len(b)) {
				n |= uint64(b[at/8]>>(at%8)) & 1
			}
		}
		if v.Type.isSigned() {
			return uint64(signExtend(n, uint(v.bits))), nil
		}
		return n, nil
	}
	n := decodeUint(b)
	if v.Type.isSigned() && len(b) < 8 {
		return uint64(signExtend(n, uint(8*len(b)))), nil
	}
	return n, nil
}

// float is a floating-point number, rounded to a double.
func (r *Reader) float(v Value) (float64, error) {
	b, err := r.Bytes(v)
	if err != nil {
		return 0, err
	}
	if !v.Type.isFloat() {
		n, err := r.Uint(v)
		if v.Type.isSigned() {
			return float64(int64(n)), err
		}
		return float64(n), err
	}
	switch len(b) {
	case 2:
		return narrow(v.Type.Strip().Name).decode(decodeUint(b)), nil
	case 4:
		return float64(math.Float32frombits(uint32(decodeUint(b)))), nil
	case 8:
		return math.Float64frombits(decodeUint(b)), nil
	case 10, 12, 16:
		w, ok := v.Type.wide()
		if !ok || len(b) <= w.sign {
			break
		}
		if f, ok := w.decode(b); ok {
			x, _ := f.Float64()
			return x, nil
		}
		return math.NaN(), nil
	}
	return 0, fmt.Errorf("floating-point number of %d bytes", len(b))
}

// Load reads all bytes of a value, unless there are many, so that its parts need no reads.
func (r *Reader) Load(v Value) Value {
	if v.place == inMemory && v.data == nil && v.err == nil && v.bits == 0 {
		if n := v.Type.Size(); n > 0 && n <= maxRead {
			if b, err := r.ReadMemory(v.addr, int(n)); err == nil {
				v.data = b
			}
		}
	}
	return v
}

// Unreadable is the error of a value that cannot be read at all. It is nil for a value that
// was optimized out, which can be printed as such.
func (r *Reader) Unreadable(v Value) error {
	if a, ok := v.Addr(); ok && v.data == nil && v.Type.Strip().Kind != Function && v.Type.Size() > 0 {
		_, err := r.ReadMemory(a, 1)
		return err
	}
	if v.err != nil && !errors.Is(v.err, errLost) {
		return v.err
	}
	return nil
}

// unref follows a reference.
func (r *Reader) unref(v Value) Value {
	t := v.Type.Strip()
	if t.Kind != Reference && t.Kind != RvalueReference {
		return v
	}
	if v.synthetic() {
		return v.pointedTo(t.Elem())
	}
	a, err := r.Uint(v)
	if err != nil {
		return LostValue(t.Elem(), err)
	}
	return MemoryValue(t.Elem(), addr.Run(a))
}

// pointedTo is the variable, of a given type, to which a synthetic pointer or reference
// points.
func (v Value) pointedTo(t *Type) Value {
	if !v.pointer.Valid() { // gcc 12 names offset 0 in split DWARF
		return LostValue(t, errLost)
	}
	l := locator{mod: v.pointerIn, frame: v.pointerFr, steps: new(int), depth: 1}
	target := l.variable(v.pointer)
	if target.err != nil {
		return target
	}
	if v.pointerOff == 0 {
		target.Type = t
		return target
	}
	return target.Part(t, v.pointerOff)
}

// Deref is what a pointer points to.
func (r *Reader) Deref(v Value) (Value, error) {
	v = r.unref(v)
	t := v.Type.Strip()
	if v.synthetic() && t.Kind == Pointer {
		return v.pointedTo(t.Elem()), nil
	}
	switch t.Kind {
	case Pointer:
		a, err := r.Uint(v)
		if err != nil {
			return Value{}, err
		}
		if t.Elem().Strip().Kind == Void {
			return Value{}, errors.New("a void pointer cannot be dereferenced: cast it first")
		}
		return MemoryValue(t.Elem(), addr.Run(a)), nil
	case Array:
		return v.Part(t.Row(), 0), nil
	case Function:
		return v, nil
	case Struct: // * of a smart pointer, as in gdb's xmethods
		if err := v.unfollowed(); err != nil {
			return Value{}, err
		}
		if p, ok := v.smartPointer(); ok && p.Type.Strip().Kind == Pointer {
			return r.Deref(p)
		}
		if d, ok := r.Describe(v); ok && d.Value == nil && d.Members == nil && d.Head != "" && v.printer().Pointer != nil {
			return Value{}, fmt.Errorf("%s cannot be followed", d.Head)
		}
	case Base:
		if v.Type.isInteger() { // gdb takes an integer for a pointer to long
			a, err := r.Uint(v)
			return MemoryValue(v.Type.prog.cType("long"), addr.Run(a)), err
		}
	}
	return Value{}, mismatch([]Value{v}, "a value of type %s cannot be dereferenced", v.Type)
}

// Member is a field of a struct.
func (r *Reader) Member(v Value, f *Field) Value {
	off := f.Offset
	if f.offExpr != nil {
		n, err := r.dynamicOffset(v, f)
		if err != nil {
			return LostValue(f.Type, err)
		}
		if v.place != inMemory {
			return LostValue(f.Type, errLost)
		}
		return MemoryValue(f.Type, n)
	}
	if f.BitSize > 0 {
		size := (f.BitOff + f.BitSize + 7) / 8
		out := v.Part(baseType(v.Type.prog, "", size, encUnsigned), off)
		out.Type, out.bits, out.bitOff = f.Type, f.BitSize, f.BitOff
		return out
	}
	return v.Part(f.Type, off)
}

// dynamicOffset is the address of a virtual base class. Its offset is in the virtual table.
func (r *Reader) dynamicOffset(v Value, f *Field) (addr.Run, error) {
	a, ok := v.Addr()
	if !ok {
		return 0, errLost
	}
	l := locator{mod: f.Type.mod, unit: f.die.Unit, steps: new(int), object: a, hasObject: true}
	n, err := l.value(f.offExpr, uint64(a))
	return addr.Run(n.V), err
}

// Find is the member that a path of names leads to. Each name is searched for in base
// classes, too.
func (r *Reader) Find(v Value, names ...string) (Value, bool) {
	for _, n := range names {
		m, ok := r.search(v, n, 0)
		if !ok || m.err != nil {
			return Value{}, false
		}
		v = m
	}
	return v, true
}

// FindUint is the integer or pointer that Find finds.
func (r *Reader) FindUint(v Value, names ...string) (uint64, bool) {
	m, ok := r.Find(v, names...)
	if !ok {
		return 0, false
	}
	n, err := r.Uint(m)
	return n, err == nil
}

// Field is the direct member of a struct with a name.
func (r *Reader) Field(v Value, name string) (Value, bool) {
	fields := v.Type.Strip().Fields()
	for i := range fields {
		if fields[i].Name == name && !fields[i].Static {
			m := r.Member(v, &fields[i])
			return m, m.err == nil
		}
	}
	return Value{}, false
}

// memberNamed finds a member. It searches base classes and anonymous unions, too.
func (r *Reader) memberNamed(v Value, name string) (Value, error) {
	t := v.Type.Strip()
	if t.Kind != Struct {
		return Value{}, mismatch([]Value{v}, "a value of type %s has no members", v.Type)
	}
	if i := strings.LastIndex(name, "::"); i >= 0 { // of a base class
		if b, ok := r.base(v, name[:i], 0); ok {
			return r.memberNamed(b, name[i+2:])
		}
	}
	if t.Rust() {
		t.read()
		if t.parts != nil {
			x, err := r.variantOf(v, t)
			if err != nil {
				return Value{}, err
			}
			if x.hasPayload {
				m, err := r.memberNamed(r.Member(v, &x.member), name)
				if err != nil {
					err = errors.New(err.Error()) // other variants may have it: no typeError
				}
				return m, err
			}
		}
		if _, err := strconv.Atoi(name); err == nil {
			name = "__" + name
		}
	}
	if m, ok := r.search(v, name, 0); ok {
		return m, nil
	}
	return Value{}, mismatch([]Value{v}, "%s has no member %q: see ptype", t, name)
}

func (r *Reader) base(v Value, name string, depth int) (Value, bool) {
	fields := v.Type.Strip().Fields()
	for i := range fields {
		f := &fields[i]
		if !f.Base || depth > maxDepth {
			continue
		}
		b := r.Member(v, f)
		if f.Name == name || strings.HasSuffix(f.Name, "::"+name) {
			return b, true
		}
		if b, ok := r.base(b, name, depth+1); ok {
			return b, true
		}
	}
	return Value{}, false
}

func (r *Reader) search(v Value, name string, depth int) (Value, bool) {
	if depth > maxDepth || v.Type == nil { // a value that was not found has no members
		return Value{}, false
	}
	t := v.Type.Strip()
	fields := t.Fields()
	for i := range fields {
		f := &fields[i]
		if f.Name == name && !f.Base {
			if f.Static {
				return t.prog.staticMember(t, f)
			}
			return r.Member(v, f), true
		}
	}
	for i := range fields {
		f := &fields[i]
		if f.Base || f.Name == "" && f.Type.Strip().Kind == Struct {
			if m, ok := r.search(r.Member(v, f), name, depth+1); ok {
				return m, true
			}
		}
	}
	return Value{}, false
}

// Variant is the data of the active variant of a Rust enum. It is false for a variant
// without data.
func (r *Reader) Variant(v Value) (Value, bool) {
	t := v.Type.Strip()
	if t.read(); t.parts == nil {
		return Value{}, false
	}
	x, err := r.variantOf(v, t)
	if err != nil || !x.hasPayload {
		return Value{}, false
	}
	return r.Member(v, &x.member), true
}

// variantOf is the active variant of a Rust enum.
func (r *Reader) variantOf(v Value, t *Type) (*variant, error) {
	t.read()
	n := uint64(0)
	mask := ^uint64(0)
	if t.parts.hasDiscr {
		d := r.Member(v, &t.parts.discr)
		var err error
		if n, err = r.Uint(d); err != nil {
			return nil, err
		}
		mask = sizeMask(d.Type.Size())
	}
	var other *variant
	for i := range t.parts.variants {
		x := &t.parts.variants[i]
		if x.isDefault {
			other = x
		} else if x.value&mask == n&mask {
			return x, nil
		}
	}
	if other == nil {
		return nil, fmt.Errorf("no variant for the discriminant %d", n)
	}
	return other, nil
}
