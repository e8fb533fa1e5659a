package values

import (
	"fmt"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"hdb/internal/addr"
)

// scalar writes a number, pointer, enum or character.
func (p *formatter) scalar(v Value, t *Type) {
	b, err := p.prog.Bytes(v)
	if err != nil {
		p.write(errorText(err))
		return
	}
	if p.o.Letter != 0 && p.o.Letter != 's' {
		p.formatted(v, t, b)
		return
	}
	switch t.Kind {
	case Pointer:
		p.pointer(t, decodeUint(b))
	case MemberPointer:
		p.memberPointer(t, b)
	case Enum:
		n, _ := p.prog.Uint(v)
		p.enum(t, int64(n))
	case Unspecified:
		p.write(fmt.Sprintf("%#x", decodeUint(b)))
	case Base:
		if t.Name == "()" {
			p.write("()")
			return
		}
		p.base(v, t, b)
	default:
		p.write("<value of a type that hdb does not know>")
	}
}

func (p *formatter) base(v Value, t *Type, b []byte) {
	switch t.Enc {
	case encFlags:
		p.write(flagsText(t.Name, decodeUint(b)))
	case encFloat:
		p.write(typedFloat(t.Name, b))
	case encComplex:
		h := len(b) / 2
		p.write(typedFloat(t.Name, b[:h]) + " + " + typedFloat(t.Name, b[h:]) + "i")
	case encBoolean:
		n, _ := p.prog.Uint(v)
		switch n {
		case 0:
			p.write("false")
		case 1:
			p.write("true")
		default:
			p.write(strconv.FormatUint(n, 10))
		}
	default:
		if t.Rust() && t.Enc == encUTF {
			n := decodeUint(b)
			p.write(fmt.Sprintf("%d %s", n, quoteChar(rune(n))))
			return
		}
		if len(b) > 8 {
			p.write(bigInt(b, t.isSigned()).String())
			return
		}
		n, err := p.prog.Uint(v)
		if err != nil {
			p.write(errorText(err))
			return
		}
		text := strconv.FormatUint(n, 10)
		if v.Type.isSigned() {
			text = strconv.FormatInt(int64(n), 10)
		}
		switch {
		case t.Rust() && t.Name == "u8", t.Rust() && t.Name == "i8":
		case t.isChar() && t.Enc == encUTF && len(b) > 1:
			text += " " + prefixOf(t) + quoteChar(rune(n))
		case t.isChar():
			text += " " + CharText(byte(n))
		case textual(v.Type):
			text += " " + prefixOf(v.Type) + quoteChar(rune(n))
		}
		p.write(text)
	}
}

// prefixOf is the prefix of a literal of wide characters: L, u or U.
func prefixOf(t *Type) string {
	for u := t.Unqualified(); ; u = u.Elem().Unqualified() {
		switch u.Name {
		case "wchar_t":
			return "L"
		case "char16_t":
			return "u"
		case "char32_t":
			return "U"
		}
		if u.Kind != Typedef {
			return ""
		}
	}
}

// CharText is a character in quotes, as gdb writes it.
func CharText(c byte) string {
	if c >= 0x80 {
		return fmt.Sprintf(`'\%03o'`, c)
	}
	return quoteChar(rune(c))
}

func quoteChar(r rune) string {
	const quote = '\''
	var b strings.Builder
	b.WriteByte(quote)
	writeRune(&b, r, quote)
	b.WriteByte(quote)
	return b.String()
}

// writeRune writes a character as in C source. Control characters are escaped, so that
// none reaches the terminal.
func writeRune(b *strings.Builder, r rune, quote byte) {
	switch r {
	case '\n':
		b.WriteString(`\n`)
	case '\t':
		b.WriteString(`\t`)
	case '\r':
		b.WriteString(`\r`)
	case '\a':
		b.WriteString(`\a`)
	case '\b':
		b.WriteString(`\b`)
	case '\f':
		b.WriteString(`\f`)
	case '\v':
		b.WriteString(`\v`)
	case '\\':
		b.WriteString(`\\`)
	case rune(quote):
		if quote == 0 {
			b.WriteString(`\000`)
			return
		}
		b.WriteByte('\\')
		b.WriteByte(quote)
	default:
		if r >= 0x20 && r < 0x7f || r >= 0xa0 && unicode.IsPrint(r) && r != utf8.RuneError {
			b.WriteRune(r)
		} else if n := uint32(r); n <= 0o777 {
			fmt.Fprintf(b, `\%03o`, n)
		} else {
			fmt.Fprintf(b, `\x%x`, n)
		}
	}
}

func bigInt(b []byte, signed bool) *big.Int {
	be := make([]byte, len(b))
	for i := range b {
		be[len(b)-1-i] = b[i]
	}
	n := new(big.Int).SetBytes(be)
	if signed && len(b) > 0 && b[len(b)-1]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// pointer writes an address, its symbol, and the text of a pointer to characters.
func (p *formatter) pointer(t *Type, a uint64) {
	p.write(fmt.Sprintf("%#x", a))
	e := t.Elem().Strip()
	if s := p.symbol(a); s != "" && (!p.o.NoSymbols || e.Kind == Function) {
		p.write(" " + s)
	}
	if a != 0 && textual(t.Elem()) && !t.Rust() && e.Kind == Base {
		p.write(" ")
		p.cstring(addr.Run(a), int(e.size), prefixOf(t.Elem()))
	}
}

// cstring writes a string that ends with a null character.
func (p *formatter) cstring(a addr.Run, width int, prefix string) {
	limit := p.o.Elements
	var data []byte
	var err error
	const chunk = 256
	for len(data) < limit*width {
		var b []byte
		at := a + addr.Run(len(data))
		n := min(chunk-int(at)%chunk, limit*width-len(data))
		if n < width {
			n = width
		}
		n -= n % width
		if n == 0 {
			n = width
		}
		if b, err = p.prog.ReadMemory(at, n); err != nil {
			for len(b) == 0 && n > width { // what can be read of a page's end
				n = n / 2 / width * width
				b, _ = p.prog.ReadMemory(at, n)
			}
			if len(b) == 0 {
				break
			}
		}
		end := zeroAt(b, width)
		if end >= 0 {
			data = append(data, b[:end]...)
			p.write(prefix + p.quoted(data, width, false))
			return
		}
		data = append(data, b...)
		if err != nil {
			break
		}
	}
	switch {
	case err != nil && len(data) == 0:
		p.write(errorText(err))
	case err != nil:
		p.write(prefix + p.quoted(data, width, false) + errorText(err))
	default:
		more, err := p.prog.ReadMemory(a+addr.Run(len(data)), width)
		p.write(prefix + p.quoted(data, width, err != nil || zeroAt(more, width) < 0))
	}
}

// zeroAt is the offset of the first null character, -1 if there is none.
func zeroAt(b []byte, width int) int {
	for i := 0; i+width <= len(b); i += width {
		zero := true
		for _, c := range b[i : i+width] {
			zero = zero && c == 0
		}
		if zero {
			return i
		}
	}
	return -1
}

// chars writes an array of characters.
func (p *formatter) chars(v Value, n int64, elem *Type) {
	width := int(max(elem.Size(), 1))
	whole := n <= maxRead/int64(width)
	n = min(n, maxRead/int64(width))
	b := v.data
	if b == nil || v.lost != nil {
		if _, err := p.prog.Bytes(v); err != nil && v.lost != nil {
			p.depth++
			p.write("{")
			p.sequence(n, func(i int64) Value { return v.Part(elem, i*int64(width)) })
			p.write("}")
			p.depth--
			return
		}
		var err error
		if b, err = p.prog.ReadMemory(v.addr, int(n)*width); err != nil {
			p.write(errorText(err))
			return
		}
	}
	b = b[:min(int(n)*width, len(b))]
	if whole && len(b) >= width && zeroAt(b[len(b)-width:], width) == 0 {
		b = b[:len(b)-width]
	}
	list, more := runsOf(b, width, p.o.Elements)
	p.write(prefixOf(elem) + p.quotedRuns(list, more || !whole))
}

// quoted is a string literal as gdb writes it: long runs of equal characters are written
// once with their length.
func (p *formatter) quoted(b []byte, width int, more bool) string {
	list, _ := runsOf(b, width, len(b))
	return p.quotedRuns(list, more)
}

func (p *formatter) quotedRuns(list []charRun, more bool) string {
	if len(list) == 0 {
		if more {
			return `""...`
		}
		return `""`
	}
	var out strings.Builder
	open := false
	for i, c := range list {
		if c.n > p.o.Repeats {
			if open {
				out.WriteString(`", `)
				open = false
			} else if i > 0 {
				out.WriteString(", ")
			}
			text := c.text
			if text == `'` {
				text = `\'`
			}
			fmt.Fprintf(&out, "'%s' <repeats %d times>", text, c.n)
			continue
		}
		if !open {
			if i > 0 {
				out.WriteString(", ")
			}
			out.WriteByte('"')
			open = true
		}
		text := c.text
		if text == `"` {
			text = `\"`
		}
		out.WriteString(strings.Repeat(text, c.n))
	}
	if open {
		out.WriteByte('"')
	}
	if more {
		out.WriteString("...")
	}
	return out.String()
}

// A charRun is a run of equal characters: the text of one, and their number.
type charRun struct {
	text string
	n    int
}

// runsOf splits a text into runs of equal characters of width bytes. Width 1 is UTF-8.
// After limit characters it ends with the run; more tells that others follow.
func runsOf(b []byte, width, limit int) (list []charRun, more bool) {
	for i, n := 0, 0; i < len(b); n++ {
		var t strings.Builder
		size := width
		if width == 1 {
			r, n := utf8.DecodeRune(b[i:])
			if r == utf8.RuneError && n <= 1 {
				fmt.Fprintf(&t, `\%03o`, b[i])
			} else {
				size = n
				writeRune(&t, r, 0)
			}
		} else if i+width <= len(b) {
			writeRune(&t, rune(decodeUint(b[i:i+width])), 0)
		}
		i += size
		if k := len(list) - 1; k >= 0 && list[k].text == t.String() {
			list[k].n++
		} else if n >= limit {
			return list, true
		} else {
			list = append(list, charRun{t.String(), 1})
		}
	}
	return list, false
}

// enum writes the name of an enumerator, or a combination of flags: as in gdb, each enumerator of
// those is 0 or one bit.
func (p *formatter) enum(t *Type, n int64) {
	scope := enumScope(t)
	flags := true
	for _, e := range t.Enumerators() {
		if e.Value == n {
			p.write(scope + e.Name)
			return
		}
		if e.Value != 0 {
			flags = flags && e.Value > 0 && bits.OnesCount64(uint64(e.Value)) == 1
		}
	}
	if !flags || len(t.Enumerators()) == 0 {
		p.write(strconv.FormatInt(n, 10))
		return
	}
	if n == 0 {
		p.write("0")
		return
	}
	var parts []string
	rest := n
	for _, e := range t.Enumerators() {
		if e.Value != 0 && rest&e.Value == e.Value {
			parts = append(parts, scope+e.Name)
			rest &^= e.Value
		}
	}
	if rest != 0 {
		parts = append(parts, fmt.Sprintf("unknown: %#x", uint64(rest)&sizeMask(t.Size())))
	}
	p.write("(" + strings.Join(parts, " | ") + ")")
}

func sizeMask(size int64) uint64 {
	if size >= 8 || size <= 0 {
		return ^uint64(0)
	}
	return 1<<(8*size) - 1
}

// memberPointer writes a pointer to member of C++ (Itanium C++ ABI, section 2.3).
func (p *formatter) memberPointer(t *Type, b []byte) {
	if t.Elem().Strip().Kind == Function {
		if len(b) < 16 {
			p.write("<pointer to member function>")
			return
		}
		ptr, adj := decodeUint(b[:8]), int64(decodeUint(b[8:16]))
		switch {
		case ptr == 0:
			p.write("NULL")
			return
		case ptr&1 != 0:
			if name := virtualMember(t, int64(ptr-1)/8); name != "" {
				p.write("&virtual " + name)
			} else {
				p.write(fmt.Sprintf("&virtual table offset %d", int64(ptr-1)))
			}
		default:
			p.write("(" + t.String() + ") " + p.codeAddr(ptr))
		}
		if adj != 0 {
			p.write(fmt.Sprintf(", this adjustment %d", adj))
		}
		return
	}
	n := int64(decodeUint(b))
	if n == -1 {
		p.write("NULL")
		return
	}
	if t.object != nil {
		for _, f := range t.object.Strip().Fields() {
			if !f.Base && !f.Static && f.Offset == n && f.Name != "" {
				p.write("&" + t.object.String() + "::" + f.Name)
				return
			}
		}
	}
	p.write(strconv.FormatInt(n, 10))
}

// virtualMember is the virtual function at a place of the virtual table of the class that a
// pointer to member is about, "" if it is not known.
func virtualMember(t *Type, slot int64) string {
	if t.object == nil {
		return ""
	}
	return virtualName(t.object, slot, 0)
}

// formatted writes a scalar in the format of a letter, as in print/x. A bit field has the size
// of its type, as in gdb.
func (p *formatter) formatted(v Value, t *Type, b []byte) {
	n, size := decodeUint(b), int64(len(b))
	if v.bits > 0 {
		n, _ = p.prog.Uint(v)
		size = v.Type.Size()
		b = encodeUint(n, int(size))
	}
	if t.isFloat() && len(b) == 16 && !strings.Contains(strings.ToLower(t.Name), "float128") {
		b = b[:10] // the rest of a long double is padding
	}
	if len(b) > 8 && strings.IndexByte("xduot", p.o.Letter) >= 0 {
		big := bigInt(b, p.o.Letter == 'd')
		format := map[byte]string{'x': "%#x", 'd': "%d", 'u': "%d", 'o': "%#o", 't': "%b"}[p.o.Letter]
		p.write(fmt.Sprintf(format, big))
		return
	}
	signed := signExtend(n, uint(8*size))
	switch p.o.Letter {
	case 'x':
		p.write(fmt.Sprintf("%#x", n&sizeMask(size)))
	case 'z':
		p.write(fmt.Sprintf("0x%0*x", 2*size, n&sizeMask(size)))
	case 'd':
		p.write(strconv.FormatInt(signed, 10))
	case 'u':
		p.write(strconv.FormatUint(n&sizeMask(size), 10))
	case 'o':
		p.write(fmt.Sprintf("%#o", n&sizeMask(size)))
	case 't':
		p.write(strconv.FormatUint(n&sizeMask(size), 2))
	case 'a', 'c':
		p.whole(v, t, n)
	case 'f':
		switch {
		case t.isFloat():
			p.write(typedFloat(t.Name, b))
		case len(b) == 4 || len(b) == 8:
			p.write(FloatText(b))
		default:
			p.write(integerText(b, t.isSigned()))
		}
	default:
		p.write(integerText(b, t.isSigned()))
	}
}

// integerText is an integer of any size in decimal.
func integerText(b []byte, signed bool) string { return bigInt(b, signed).String() }

// whole writes a number as an address or a character, by the letters a and c. A
// floating-point number counts without its fraction.
func (p *formatter) whole(v Value, t *Type, n uint64) {
	switch {
	case t.isFloat():
		f, err := p.prog.float(v)
		if err != nil {
			p.write(errorText(err))
			return
		}
		n = uint64(int64(f))
	case t.Size() > 8:
		p.write(errorText(errTooWide))
		return
	case t.isSigned() && v.bits == 0:
		n = uint64(signExtend(n, uint(8*t.Size())))
	}
	switch {
	case p.o.Letter == 'a':
		p.write(p.codeAddr(n))
	case t.isSigned() || t.isFloat():
		p.write(fmt.Sprintf("%d %s", int8(n), CharText(byte(n))))
	default:
		p.write(fmt.Sprintf("%d %s", byte(n), CharText(byte(n))))
	}
}
