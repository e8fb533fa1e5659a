package values

import (
	"errors"
	"fmt"
	"strings"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/symbols/dwarf"
	"hdb/symbols/dwarf/scope"
	"hdb/unwind"
)

// ErrNoFrame is of registers and variables where no frame is selected.
var ErrNoFrame = errors.New("no frame is selected")

// A Frame is one frame of a stack.
type Frame struct {
	Module  Module
	PC      addr.Code
	Inlined int // how many frames at the same PC are inner
	Regs    unwind.Regs
	CFA     addr.Run // 0 unknown
	// Wide is a register that Regs does not have, by its DWARF number: xmm0 is 17. It is
	// nil if the registers are not known, as in all frames but the innermost.
	Wide func(reg uint64) []byte
	// WideLeft is Wide of the innermost frame, in all other frames.
	WideLeft func(reg uint64) []byte
	// Callee is the physical frame that this one called. It is nil in the innermost.
	Callee func() *Frame
	// Caller is the next outer physical frame. It is nil in the outermost.
	Caller func() *Frame
	// Set writes a general register. It is nil if registers cannot be written.
	Set func(reg unwind.Reg, v uint64) error
	// SetWide writes the low bytes of a register that Wide reads. It may be nil, as Set.
	SetWide func(reg uint64, b []byte) error

	scopes []symbols.Scope
	loaded bool

	imports *imports // see imported; nil until it is asked for
	site    *site    // what is remembered of the place; nil: nothing

	asLeft  *Frame // see overCalls
	overRun bool
}

// ErrNoDebug is the error for a frame without debug information.
var ErrNoDebug = errors.New("no debug information for this frame: info symbols shows what is missing, and how to get it")

// scope is the scope of the frame's code.
func (f *Frame) scope() (*symbols.Scope, error) {
	if f == nil {
		return nil, ErrNoFrame
	}
	if !f.loaded {
		f.loaded = true
		if f.Module.Obj != nil {
			f.scopes = f.Module.Obj.DWARF.Scopes(f.PC.Lookup().File(f.Module.Bias))
		}
	}
	if f.Inlined >= len(f.scopes) {
		return nil, ErrNoDebug
	}
	return &f.scopes[f.Inlined], nil
}

// language is the language of the frame's source: "c", "c++" or "rust". Without a frame it
// is "c".
func (f *Frame) language() string {
	if s, err := f.scope(); err == nil {
		return s.Language.String()
	}
	return "c"
}

func (f *Frame) pc() uint64 { return uint64(f.PC.Lookup().File(f.Module.Bias)) }

// location is the expression of an attribute that is valid at the frame's PC. Without a
// frame, it has to be valid everywhere.
func (f *Frame) location(u *dwarf.Unit, v dwarf.Value, m *modState) ([]byte, bool) {
	if f == nil {
		return u.Location(v, m.sections(), 0)
	}
	pc := f.pc()
	if s, err := f.scope(); err == nil && s.Physical.Valid() && !f.PC.IsReturn() {
		if at, ok := entryOf(s.Physical); ok && at == pc {
			return u.EntryLocation(v, m.sections(), pc)
		}
	}
	return u.Location(v, m.sections(), pc)
}

// entryOf is the file address at which a function is entered. One in several parts has
// ranges, of which the first begins there.
func entryOf(fn dwarf.DIE) (uint64, bool) {
	if low, ok := fn.Attr(dwarf.AtLowPC); ok {
		return low.Addr()
	}
	r := fn.Ranges(nil, 1)
	if len(r) == 0 {
		return 0, false
	}
	return r[0].Low, true
}

// register reads a register by its DWARF number.
func (f *Frame) register(n uint64) ([]byte, bool) {
	if n <= uint64(unwind.RIP) {
		v, ok := f.Regs.Get(unwind.Reg(n))
		return encodeUint(v, 8), ok
	}
	if f.Wide != nil {
		if b := f.Wide(n); b != nil {
			return b, true
		}
	}
	if f.WideLeft != nil && n >= regES && n <= regGSBase { // no call changes them
		if b := f.WideLeft(n); b != nil {
			return b, true
		}
	}
	return nil, false
}

// maxRead bounds the bytes of a value that are read at once, as gdb's max-value-size does.
const maxRead = 64 << 10

// A MemoryError is the error for memory that cannot be read.
type MemoryError struct{ At addr.Run }

func (e *MemoryError) Error() string {
	return fmt.Sprintf("cannot access memory at address %v", e.At)
}

// encodeUint is v in n bytes, least significant first.
func encodeUint(v uint64, n int) []byte {
	b := make([]byte, n)
	for i := range min(n, 8) {
		b[i] = byte(v >> (8 * i))
	}
	return b
}

// decodeUint is the number in at most eight bytes, least significant first.
func decodeUint(b []byte) uint64 {
	var v uint64
	for i := range min(len(b), 8) {
		v |= uint64(b[i]) << (8 * i)
	}
	return v
}

// signExtend is the low bits of v as a signed number.
func signExtend(v uint64, bits uint) int64 {
	if bits == 0 || bits >= 64 {
		return int64(v)
	}
	return int64(v<<(64-bits)) >> (64 - bits)
}

// A Block is a function, an inlined copy of one, or a block in it. The zero Block is none.
type Block struct {
	obj  *symbols.Object
	unit *dwarf.Unit
	off  uint64
}

// Within reports whether the frame is in a block. All frames are in the zero Block.
func (f *Frame) Within(b Block) bool {
	if b == (Block{}) {
		return true
	}
	s, err := f.scope()
	if err != nil || f.Module.Obj != b.obj {
		return false
	}
	for _, d := range s.Blocks {
		if d.Unit == b.unit && d.Off == b.off {
			return true
		}
	}
	return false
}

// stackArgs is how far above the CFA parameters of a function can be.
const stackArgs = 4096

// holds reports whether an address is in the frame's part of the stack.
func (f *Frame) holds(a addr.Run) bool {
	sp, ok := f.Regs.Get(unwind.RSP)
	return ok && f.CFA != 0 && uint64(a) >= sp-addr.RedZone && a < f.CFA+stackArgs
}

// functions are the names of the functions of the frame and of up to n frames further
// out, inlined ones among them, as gdb names them: without parameters.
func (f *Frame) functions(n uint64) (out []string) {
	for ; f != nil && uint64(len(out)) <= n; f = f.Caller() {
		f.scope() // reads the scopes
		for i := f.Inlined; i < len(f.scopes); i++ {
			d := scope.Describe(f.scopes[i].Blocks[len(f.scopes[i].Blocks)-1])
			out = append(out, f.Module.Obj.DWARF.Qualified(d.Named, d.Name))
		}
		if len(f.scopes) == 0 {
			name := ""
			if f.Module.Obj != nil {
				if fn, ok := f.Module.Obj.FunctionAt(f.PC.Lookup().File(f.Module.Bias)); ok {
					name, _, _ = strings.Cut(fn.Name, "(")
				}
			}
			out = append(out, name)
		}
		if f.Caller == nil {
			break
		}
	}
	return out
}
