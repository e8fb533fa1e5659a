package python

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"hdb/internal/addr"
)

// objectPrinters are of the classes of the interpreter and its library that C keeps the
// values of, by tp_name. Their structs are the same in all versions.
var objectPrinters map[string]func(*printer, addr.Run, class) error

func init() { // which the printers refer to
	objectPrinters = map[string]func(*printer, addr.Run, class) error{
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
func (p *printer) byteArray(at addr.Run, _ class) error {
	b, err := p.in.mem.read(at, 48)
	if err != nil {
		return err
	}
	p.out.WriteString("bytearray(")
	if err := p.rawBytes(pointerIn(b, 40), uint64(pointerIn(b, varSize))); err != nil {
		return err
	}
	p.out.WriteByte(')')
	return nil
}

// What a deque is made of (Modules/_collectionsmodule.c): blocks of a link to the left,
// values, and a link to the right.
const (
	dequeBlock  = 64
	dequeLeft   = 24
	dequeIndex  = 40
	dequeMax    = 64
	dequeRight  = 8 + 8*dequeBlock
	maxDequeGap = 1 << 16 // blocks that are passed to find one element
)

// dequeElements are at most limit objects of a deque from one on, and how many it has.
func (in *Interpreter) dequeElements(at addr.Run, from, limit uint64) (all []addr.Run, length uint64, err error) {
	b, err := in.mem.read(at, dequeMax+8)
	if err != nil {
		return nil, 0, err
	}
	length = uint64(pointerIn(b, varSize))
	block, index := pointerIn(b, dequeLeft), uint64(pointerIn(b, dequeIndex))
	if index >= dequeBlock || length > 1<<40 {
		return nil, length, fmt.Errorf("%v: not a deque", at)
	}
	index += from
	for n := 0; index >= dequeBlock && from < length; n, index = n+1, index-dequeBlock {
		if n == maxDequeGap {
			return nil, length, fmt.Errorf("element %d of a deque is too far from its end", from)
		}
		if block, err = in.mem.pointer(block + dequeRight); err != nil {
			return nil, length, err
		}
	}
	for i := from; i < length && uint64(len(all)) < limit; i++ {
		if index == dequeBlock {
			if block, err = in.mem.pointer(block + dequeRight); err != nil {
				return all, length, err
			}
			index = 0
		}
		v, err := in.mem.pointer(block + 8 + addr.Run(8*index))
		if err != nil {
			return all, length, err
		}
		all, index = append(all, v), index+1
	}
	return all, length, nil
}

func (p *printer) deque(at addr.Run, _ class) error {
	all, length, err := p.in.dequeElements(at, 0, uint64(p.l.Elements))
	if err != nil {
		return err
	}
	limit, err := p.in.mem.word(at + dequeMax)
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

func (p *printer) cell(at addr.Run, _ class) error {
	if p.deep("<cell ", ">") {
		return nil
	}
	of, err := p.in.mem.pointer(at + cellRef)
	if err != nil {
		return err
	}
	p.out.WriteString("<cell ")
	p.value(of)
	p.out.WriteByte('>')
	return nil
}

func (p *printer) module(at addr.Run, c class) error {
	name, err := p.in.mem.pointer(at + moduleName)
	if err != nil {
		return err
	}
	chars, _, err := p.in.characters(name, 0, maxText)
	if err != nil {
		return err
	}
	p.out.WriteString("<" + c.name + " " + quote(chars) + ">")
	return nil
}

// functionName is the qualified name of a function.
func (in *Interpreter) functionName(at addr.Run) (string, error) {
	name, err := in.mem.pointer(at + addr.Run(in.layout.functionQual))
	if err != nil {
		return "", err
	}
	return in.Text(name)
}

func (p *printer) function(at addr.Run, c class) error {
	name, err := p.in.functionName(at)
	if err == nil {
		p.out.WriteString("<" + c.name + " " + name + ">")
	}
	return err
}

// method writes a function that is bound to an object: PyMethodObject.
func (p *printer) method(at addr.Run, _ class) error {
	b, err := p.in.mem.read(at+16, 16)
	if err != nil {
		return err
	}
	f, err := p.in.class(pointerIn(b, 0))
	if err != nil {
		return err
	}
	name := f.short()
	if f.name == "function" {
		if name, err = p.in.functionName(pointerIn(b, 0)); err != nil {
			return err
		}
	}
	p.out.WriteString("<bound method " + name)
	if self, err := p.in.class(pointerIn(b, 8)); err == nil {
		fmt.Fprintf(&p.out, " of %s at %v", self.short(), pointerIn(b, 8))
	}
	p.out.WriteByte('>')
	return nil
}

// builtin writes a function of C: PyCFunctionObject.
func (p *printer) builtin(at addr.Run, _ class) error {
	def, err := p.in.mem.pointer(at + 16)
	if err != nil {
		return err
	}
	name, err := p.in.mem.pointer(def)
	if err != nil {
		return err
	}
	text, err := p.in.cString(name)
	if err == nil {
		p.out.WriteString("<built-in function " + text + ">")
	}
	return err
}

// exception writes what an exception was made with.
func (p *printer) exception(at addr.Run, c class) error {
	args, err := p.in.mem.pointer(at + 24)
	if err != nil {
		return err
	}
	n, err := p.in.mem.word(args + varSize)
	if err != nil {
		return err
	}
	return p.elements(args+tupleItems, 0, n, c.short()+"(", ")")
}

// The fields of datetime's objects (Include/datetime.h): a byte that tells of a time zone,
// then the value in bytes, the highest first.
const (
	hasZone  = 24
	timeData = 25
)

func (p *printer) date(at addr.Run, _ class) error {
	b, err := p.in.mem.read(at+timeData, 4)
	if err == nil {
		fmt.Fprintf(&p.out, "datetime.date(%d, %d, %d)", binary.BigEndian.Uint16(b), b[2], b[3])
	}
	return err
}

func (p *printer) datetime(at addr.Run, _ class) error {
	b, err := p.in.mem.read(at+hasZone, 12)
	if err != nil {
		return err
	}
	d := b[1:]
	fmt.Fprintf(&p.out, "datetime.datetime(%d, %d, %d, ", binary.BigEndian.Uint16(d), d[2], d[3])
	return p.clockText(d[4:], b[0] != 0, b[11], at+40)
}

func (p *printer) clock(at addr.Run, _ class) error {
	b, err := p.in.mem.read(at+hasZone, 8)
	if err != nil {
		return err
	}
	p.out.WriteString("datetime.time(")
	return p.clockText(b[1:], b[0] != 0, b[7], at+32)
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
		at, err := p.in.mem.pointer(zone)
		if err != nil {
			return err
		}
		p.out.WriteString(", tzinfo=")
		p.value(at)
	}
	p.out.WriteByte(')')
	return nil
}

func (p *printer) timedelta(at addr.Run, _ class) error {
	b, err := p.in.mem.read(at+24, 12)
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
func (p *printer) timezone(at addr.Run, _ class) error {
	b, err := p.in.mem.read(at+16, 16)
	if err != nil {
		return err
	}
	offset, name := pointerIn(b, 0), pointerIn(b, 8)
	away, err := p.in.mem.read(offset+24, 12)
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
