package breakpoints

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"hdb/capture"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/cond"
)

// A Call is one call of an allocator function by the user's code.
type Call struct {
	Event     capture.Event      // without Seq, Time, Func and Stack, which the sink knows
	Function  Function           // what was called
	Inner     []string           // functions that did the work for it: operator new's malloc
	Entry     addr.Run           // of the function
	Return    addr.Run           // return address
	SP        addr.Run           // stack pointer at entry: it points to the return address
	Args      [6]uint64          // integer arguments at entry
	Regs      inferior.Registers // of the thread now
	Now       addr.Code          // where it is: behind the call, or at an entry (this one's if it frees, the next one's if Abandoned)
	Kept      any                // what Sink.Keep returned, if it was asked
	Abandoned bool               // left by an exception or longjmp, known only now
	SizeLost  bool               // a recorded call whose product of sizes is no 64-bit number, or of no elements: what their size was is not known
	PtrLost   bool               // a recorded call that failed, of which the address that was passed is not kept
}

// Is reports whether pattern names the function or one that did its work, so
// that a stop at malloc also sees the malloc of an operator new.
func (c Call) Is(pattern string) bool {
	return c.Function.Is(pattern) || slices.ContainsFunc(c.Inner, func(name string) bool { return cond.Match(pattern, name) })
}

// UnknownPointer represents the result of a call whose return is not awaited, as in Go, where it
// may be on another stack.
const UnknownPointer = " = ? (the pointer is not known)"

// String is the call as the console shows it: calloc(1, 96) = 0x55555578a2c0.
func (c Call) String() string { return c.Text(PlainBytes) }

// PlainBytes is a size as it is in the program.
func PlainBytes(n uint64) string { return strconv.FormatUint(n, 10) }

// Text is String with the size as size words it.
func (c Call) Text(size func(n uint64) string) string {
	text := c.Function.Name + "(" + strings.Join(c.shown(size), ", ") + ")"
	switch {
	case c.Abandoned:
		return text + " did not return"
	case c.Event.Failed && c.Function.Group == GroupVM:
		return text + " = -1"
	case c.Event.Failed:
		return text + " = NULL"
	case c.Event.Kind == capture.Alloc && c.Function.atEntry() && c.Event.Addr == 0:
		return text + UnknownPointer
	case c.Event.Kind == capture.Free || c.Function.atEntry() && c.Event.Kind != capture.Alloc || c.Function.Result == IsZero && c.Function.Ptr.From == Argument:
		return text
	case c.Event.Addr == 0:
		return text + " = NULL" // realloc(p, 0)
	case c.Function.MayUnmap() && c.Event.Kind == capture.Unmap:
		return fmt.Sprintf("%s = %#x", text, c.Event.Addr+c.Event.Size)
	}
	return fmt.Sprintf("%s = %#x", text, c.Event.Addr)
}

// shown is the arguments worth showing, in the order of the C prototype.
func (c Call) shown(size func(n uint64) string) []string {
	type argument struct {
		index int
		text  string
	}
	var list []argument
	add := func(o Operand, format string) {
		switch o.From {
		case Argument, GoRegister:
			list = append(list, argument{o.Index, fmt.Sprintf(format, c.value(o))})
		case Constant, TextLength:
			list = append(list, argument{len(c.Args), fmt.Sprintf(format, c.Event.Size)})
		}
	}
	f := c.Function
	add(f.Old, "%#x")
	if c.PtrLost {
		list = append(list, argument{f.Ptr.Index, "?"})
	} else {
		add(f.Ptr, "%#x")
	}
	if c.SizeLost && f.Count.From == Argument && !f.CountKnown(c.value(f.Count)) {
		list = append(list, argument{f.Count.Index, "?"})
	} else {
		add(f.Count, "%d")
	}
	add(f.Align, "%d")
	add(f.Pool, "%#x")
	if f.Kind == capture.Protect {
		list = append(list, argument{f.Mode.Index, capture.MapMode(c.value(f.Mode)).ProtText()})
	}
	switch {
	case f.MayUnmap() && int64(c.value(f.Size)) < 0:
		list = append(list, argument{f.Size.Index, "-" + size(-c.value(f.Size))})
	case c.SizeLost:
		list = append(list, argument{f.Size.Index, "?"})
	default:
		switch f.Size.From {
		case Argument, GoRegister:
			list = append(list, argument{f.Size.Index, size(c.value(f.Size))})
		case Constant, TextLength:
			list = append(list, argument{len(c.Args), size(c.Event.Size)})
		}
	}
	slices.SortStableFunc(list, func(a, b argument) int { return cmp.Compare(a.index, b.index) })
	texts := make([]string, len(list))
	for i, a := range list {
		texts[i] = a.text
	}
	return texts
}

// value is an operand that is known at entry; 0 for the others.
func (c *Call) value(o Operand) uint64 {
	switch o.From {
	case Argument:
		if o.Index < len(c.Args) {
			return c.Args[o.Index]
		}
	case GoRegister:
		return c.Args[0] // the only one used
	case Constant:
		return o.Value
	}
	return 0
}

// begin fills the event with what is known at entry.
func (c *Call) begin() {
	f, e := &c.Function, &c.Event
	e.Kind = f.Kind
	e.Size = c.value(f.Size)
	if f.Count.From != Nowhere {
		e.Aux = c.value(f.Count)
		if high, low := bits.Mul64(e.Size, e.Aux); high == 0 {
			e.Size = low
		} else {
			e.Size = math.MaxUint64 // the call fails
		}
	}
	if f.Align.From != Nowhere {
		e.Aux = c.value(f.Align)
	}
	if f.Pool.From != Nowhere {
		e.Aux = c.value(f.Pool)
	}
	if f.Mode.From != Nowhere {
		e.Aux = f.MapAux(c.value(f.Mode), c.value(f.Flags))
	}
	e.Old = c.value(f.Old)
	e.Addr = c.value(f.Ptr)
}

// finish adds the result. memory reads what an argument or the result points to.
func (c *Call) finish(result uint64, memory reader) {
	f, e := &c.Function, &c.Event
	switch f.Ptr.From {
	case Returned:
		e.Addr = result
	case Pointed:
		e.Addr = 0
		if f.Result != IsZero || uint32(result) == 0 {
			e.Addr, _ = memory.word(addr.Run(c.value(Operand{From: Argument, Index: f.Ptr.Index})))
		}
	}
	switch f.Result {
	case NotMinus1:
		e.Failed = result == ^uint64(0)
	case IsZero:
		e.Failed = uint32(result) != 0
	default:
		e.Failed = e.Addr == 0 && !c.nullIsFreed()
	}
	f.Unmaps(e)
	if e.Failed {
		e.Addr = 0
		return
	}
	if f.Size.From == TextLength {
		e.Size = memory.textLength(addr.Run(e.Addr))
	}
}

// Unmaps makes the event of a call that has returned one that unmaps memory, if that is what the
// call did: sbrk with a negative size, which returns the old break. Called once it is known
// whether the call failed.
func (f *Function) Unmaps(e *capture.Event) {
	if !f.MayUnmap() || int64(e.Size) >= 0 {
		return
	}
	e.Kind, e.Size = capture.Unmap, -e.Size
	e.Addr -= e.Size
}

// nullIsFreed reports whether NULL means that the old block was freed, as
// realloc(p, 0) does, and not that it lives on.
func (c *Call) nullIsFreed() bool {
	return c.Event.Old != 0 && (c.Event.Size == 0 || c.Function.Result == NullIsFreed)
}

// abandon makes the call one that failed without returning.
func (c *Call) abandon() {
	c.Abandoned = true
	c.Event.Failed, c.Event.Addr = true, 0
}

// void reports whether the call does nothing: free(NULL), sbrk(0).
func (c *Call) void() bool {
	switch c.Function.Kind {
	case capture.Free:
		return c.Event.Addr == 0
	case capture.Protect:
		return c.Event.Size == 0
	case capture.Map:
		return c.Function.MayUnmap() && c.Event.Size == 0
	}
	return false
}
