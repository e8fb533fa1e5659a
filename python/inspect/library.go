package inspect

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"hdb/internal/addr"
	"hdb/python/layout"
)

// objectPrinters are of the classes of the interpreter and its library that C keeps the
// values of, by tp_name. Their structs are the same in all versions.
var objectPrinters map[string]func(*printer, addr.Run, Class) error

func init() { // which the printers refer to
	objectPrinters = map[string]func(*printer, addr.Run, Class) error{
		"float": (*printer).float, "complex": (*printer).complex, "range": (*printer).rangeObject,
		"set": (*printer).set, "frozenset": (*printer).set,
		"bytearray": (*printer).byteArray, "collections.deque": (*printer).deque, "cell": (*printer).cell,
		"module": (*printer).module, "function": (*printer).function, "method": (*printer).method,
		"builtin_function_or_method": (*printer).builtin,
		"generator":                  (*printer).generator, "coroutine": (*printer).generator, "async_generator": (*printer).generator,
		"datetime.date": (*printer).date, "datetime.datetime": (*printer).datetime, "datetime.time": (*printer).clock,
		"datetime.timedelta": (*printer).timedelta, "datetime.timezone": (*printer).timezone,
		"numpy.ndarray": (*printer).array,
	}
	for _, name := range append(dtypes, "bool_") {
		objectPrinters["numpy."+name] = (*printer).numpyScalar
	}
}

// byteArray writes PyByteArrayObject: its bytes begin at ob_start.
func (p *printer) byteArray(at addr.Run, _ Class) error {
	start := p.r.layout.ByteArray.Start
	b, err := p.r.Read(at, start+8)
	if err != nil {
		return err
	}
	p.out.WriteString("bytearray(")
	if err := p.rawBytes(pointerIn(b, start), uint64(pointerIn(b, p.r.layout.Object.Count))); err != nil {
		return err
	}
	p.out.WriteByte(')')
	return nil
}

// maxDequeGap bounds the blocks of a deque that are passed to find one element.
const maxDequeGap = 1 << 16

// dequeElements are at most limit objects of a deque from one on, and how many it has.
func (r *Reader) dequeElements(at addr.Run, from, limit uint64) (all []addr.Run, length uint64, err error) {
	b, err := r.Read(at, r.layout.Deque.Max+8)
	if err != nil {
		return nil, 0, err
	}
	length = uint64(pointerIn(b, r.layout.Object.Count))
	block, index := pointerIn(b, r.layout.Deque.Left), uint64(pointerIn(b, r.layout.Deque.Index))
	if index >= layout.DequeBlock || length > 1<<40 {
		return nil, length, fmt.Errorf("%v: not a deque", at)
	}
	index += from
	for n := 0; index >= layout.DequeBlock && from < length; n, index = n+1, index-layout.DequeBlock {
		if n == maxDequeGap {
			return nil, length, fmt.Errorf("element %d of a deque is too far from its end", from)
		}
		if block, err = r.Field(block, layout.DequeRight); err != nil {
			return nil, length, err
		}
	}
	for i := from; i < length && uint64(len(all)) < limit; i++ {
		if index == layout.DequeBlock {
			if block, err = r.Field(block, layout.DequeRight); err != nil {
				return all, length, err
			}
			index = 0
		}
		v, err := r.Pointer(block + 8 + addr.Run(8*index))
		if err != nil {
			return all, length, err
		}
		all, index = append(all, v), index+1
	}
	return all, length, nil
}

func (p *printer) deque(at addr.Run, _ Class) error {
	all, length, err := p.r.dequeElements(at, 0, uint64(p.l.Elements))
	if err != nil {
		return err
	}
	limit, err := p.r.Word(at + addr.Run(p.r.layout.Deque.Max))
	if err != nil {
		return err
	}
	if length > 0 && p.deep("deque([", "])") {
		return nil
	}
	p.out.WriteString("deque([")
	for i, v := range all {
		if i > 0 {
			p.out.WriteString(", ")
		}
		p.value(v)
	}
	if uint64(len(all)) < length {
		fmt.Fprintf(&p.out, ", ... (%d in all)", length)
	}
	p.out.WriteByte(']')
	if int64(limit) >= 0 {
		fmt.Fprintf(&p.out, ", maxlen=%d", limit)
	}
	p.out.WriteByte(')')
	return nil
}

func (p *printer) cell(at addr.Run, _ Class) error {
	if p.deep("<cell ", ">") {
		return nil
	}
	of, err := p.r.Field(at, p.r.layout.Cell)
	if err != nil {
		return err
	}
	p.out.WriteString("<cell ")
	p.value(of)
	p.out.WriteByte('>')
	return nil
}

func (p *printer) module(at addr.Run, c Class) error {
	name, err := p.r.Field(at, p.r.layout.Module.Name)
	if err != nil {
		return err
	}
	chars, _, err := p.r.characters(name, 0, maxText)
	if err != nil {
		return err
	}
	p.out.WriteString("<" + c.Name + " " + quote(chars) + ">")
	return nil
}

// ModuleDict is the dict of a module object (PyModuleObject.md_dict).
func (r *Reader) ModuleDict(at addr.Run) (addr.Run, error) { return r.Field(at, r.layout.Module.Dict) }

// functionName is the qualified name of a function.
func (r *Reader) functionName(at addr.Run) (string, error) {
	name, err := r.Field(at, r.layout.Function.Qualname)
	if err != nil {
		return "", err
	}
	return r.Text(name)
}

func (p *printer) function(at addr.Run, c Class) error {
	name, err := p.r.functionName(at)
	if err == nil {
		p.out.WriteString("<" + c.Name + " " + name + ">")
	}
	return err
}

// method writes a function that is bound to an object: PyMethodObject.
func (p *printer) method(at addr.Run, _ Class) error {
	function, err := p.r.Field(at, p.r.layout.Method.Function)
	if err != nil {
		return err
	}
	bound, err := p.r.Field(at, p.r.layout.Method.Self)
	if err != nil {
		return err
	}
	f, err := p.r.ClassOf(function)
	if err != nil {
		return err
	}
	name := f.Short()
	if f.Name == "function" {
		if name, err = p.r.functionName(function); err != nil {
			return err
		}
	}
	p.out.WriteString("<bound method " + name)
	if self, err := p.r.ClassOf(bound); err == nil {
		fmt.Fprintf(&p.out, " of %s at %v", self.Short(), bound)
	}
	p.out.WriteByte('>')
	return nil
}

// builtin writes a function of C: PyCFunctionObject.
func (p *printer) builtin(at addr.Run, _ Class) error {
	def, err := p.r.Field(at, p.r.layout.CFunction.Def)
	if err != nil {
		return err
	}
	name, err := p.r.Field(def, layout.MethodName)
	if err != nil {
		return err
	}
	text, err := p.r.cString(name)
	if err == nil {
		p.out.WriteString("<built-in function " + text + ">")
	}
	return err
}

// exception writes what an exception was made with.
func (p *printer) exception(at addr.Run, c Class) error {
	args, err := p.r.Field(at, p.r.layout.Exception.Args)
	if err != nil {
		return err
	}
	n, err := p.r.Count(args)
	if err != nil {
		return err
	}
	return p.elements(args+addr.Run(p.r.layout.Tuple.Items), 0, n, c.Short()+"(", ")")
}

func (p *printer) date(at addr.Run, _ Class) error {
	b, err := p.r.Read(at+addr.Run(p.r.layout.Date.Data), 4)
	if err == nil {
		fmt.Fprintf(&p.out, "datetime.date(%d, %d, %d)", binary.BigEndian.Uint16(b), b[2], b[3])
	}
	return err
}

func (p *printer) datetime(at addr.Run, _ Class) error {
	b, err := p.r.Read(at+addr.Run(p.r.layout.Date.Zoned), 12)
	if err != nil {
		return err
	}
	d := b[1:]
	fmt.Fprintf(&p.out, "datetime.datetime(%d, %d, %d, ", binary.BigEndian.Uint16(d), d[2], d[3])
	return p.clockText(d[4:], b[0] != 0, b[11], at+addr.Run(p.r.layout.Date.DatetimeZone))
}

func (p *printer) clock(at addr.Run, _ Class) error {
	b, err := p.r.Read(at+addr.Run(p.r.layout.Date.Zoned), 8)
	if err != nil {
		return err
	}
	p.out.WriteString("datetime.time(")
	return p.clockText(b[1:], b[0] != 0, b[7], at+addr.Run(p.r.layout.Date.TimeZone))
}

// clockText writes hour, minute and so on: the last ones only if they are not 0.
func (p *printer) clockText(d []byte, zoned bool, fold byte, zone addr.Run) error {
	micro := int(d[3])<<16 | int(d[4])<<8 | int(d[5])
	fmt.Fprintf(&p.out, "%d, %d", d[0], d[1])
	if d[2] != 0 || micro != 0 {
		fmt.Fprintf(&p.out, ", %d", d[2])
	}
	if micro != 0 {
		fmt.Fprintf(&p.out, ", %d", micro)
	}
	if fold != 0 {
		fmt.Fprintf(&p.out, ", fold=%d", fold)
	}
	if zoned {
		at, err := p.r.Pointer(zone)
		if err != nil {
			return err
		}
		p.out.WriteString(", tzinfo=")
		p.value(at)
	}
	p.out.WriteByte(')')
	return nil
}

func (p *printer) timedelta(at addr.Run, _ Class) error {
	b, err := p.r.Read(at+addr.Run(p.r.layout.Delta.Days), 12)
	if err != nil {
		return err
	}
	var parts []string
	for i, name := range []string{"days", "seconds", "microseconds"} {
		if n := intIn(b, 4*i); n != 0 {
			parts = append(parts, name+"="+strconv.Itoa(n))
		}
	}
	if len(parts) == 0 {
		parts = []string{"0"}
	}
	p.out.WriteString("datetime.timedelta(" + strings.Join(parts, ", ") + ")")
	return nil
}

// timezone writes the distance from UTC and the name, if it has one.
func (p *printer) timezone(at addr.Run, _ Class) error {
	l := &p.r.layout.Timezone
	offset, err := p.r.Field(at, l.Offset)
	if err != nil {
		return err
	}
	name, err := p.r.Field(at, l.Name)
	if err != nil {
		return err
	}
	away, err := p.r.Read(offset+addr.Run(p.r.layout.Delta.Days), 12)
	if err != nil {
		return err
	}
	if name == 0 && strings.Trim(string(away), "\x00") == "" {
		p.out.WriteString("datetime.timezone.utc")
		return nil
	}
	p.out.WriteString("datetime.timezone(")
	p.value(offset)
	if name != 0 {
		p.out.WriteString(", ")
		p.value(name)
	}
	p.out.WriteByte(')')
	return nil
}
