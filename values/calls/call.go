package calls

import "hdb/internal/addr"

// A Call is a call of a function of the program, as the System V ABI for AMD64 passes its
// arguments (section 3.2.3).
type Call struct {
	Function addr.Run
	General  []Argument // in the general registers
	Vector   [][]byte   // in the vector registers, 16 bytes at most each
	Stack    []Argument // the words above the return address
}

// An Argument is a number, or the address of a copy of data in the thread's stack.
type Argument struct {
	N    uint64
	Data []byte // nil: N
}

// Registers of the ABI for arguments.
const (
	maxGeneral = 6
	maxVector  = 8
)

// Word passes a word in a general register, or on the stack when they are all taken.
func (c *Call) Word(a Argument) {
	if len(c.General) < maxGeneral {
		c.General = append(c.General, a)
	} else {
		c.Stack = append(c.Stack, a)
	}
}

// Value passes the bytes of a value of these classes: in registers if there are enough of
// them, else on the stack. Nil classes are those of a value in memory.
func (c *Call) Value(b []byte, classes Words, alignment int64) {
	if !c.inRegisters(b, classes) {
		c.push(b, alignment)
	}
}

// Float passes a floating-point number in a vector register, or on the stack when they are
// all taken.
func (c *Call) Float(b []byte) {
	if len(c.Vector) < maxVector {
		c.Vector = append(c.Vector, b)
	} else {
		c.push(b, 8)
	}
}

// inRegisters passes the eightbytes of a value in registers of their classes. It reports false if
// the value continues the stack: it has more eightbytes than registers are left, or is of class
// MEMORY or X87.
func (c *Call) inRegisters(b []byte, classes Words) bool {
	if classes == nil {
		return false
	}
	var general []Argument
	var vector [][]byte
	for i, cl := range classes {
		word := b[min(8*i, len(b)):min(8*i+8, len(b))]
		switch cl {
		case Integer:
			general = append(general, Argument{N: number(word)})
		case SSE:
			vector = append(vector, append(make([]byte, 0, 16), word...))
		case SSEUp:
			last := &vector[len(vector)-1]
			if *last = append(*last, word...); len(*last) > 16 {
				return false // of a vector that hdb does not pass in a register
			}
		case NoClass: // padding, or a class without members: it is not passed at all
		default:
			return false
		}
	}
	if len(c.General)+len(general) > maxGeneral || len(c.Vector)+len(vector) > maxVector {
		return false
	}
	c.General, c.Vector = append(c.General, general...), append(c.Vector, vector...)
	return true
}

// push appends a value to the words on the stack.
func (c *Call) push(b []byte, alignment int64) {
	if alignment > 8 && len(c.Stack)%2 == 1 {
		c.Stack = append(c.Stack, Argument{})
	}
	for i := 0; i < len(b); i += 8 {
		c.Stack = append(c.Stack, Argument{N: number(b[i:min(i+8, len(b))])})
	}
}

// number is up to 8 bytes as a little-endian number.
func number(b []byte) (n uint64) {
	for i, x := range b {
		n |= uint64(x) << (8 * i)
	}
	return n
}
