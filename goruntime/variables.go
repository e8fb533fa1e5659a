package goruntime

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// Variables of the runtime that Program.Variable finds.
const (
	AllGs             = "runtime.allgs"             // []*g, dead ones too
	AllMs             = "runtime.allm"              // *m, the next of each in m.alllink
	Heap              = "runtime.mheap_"            // mheap
	FirstModule       = "runtime.firstmoduledata"   // moduledata
	AllFinalizers     = "runtime.allfin"            // *finblock, the next of each in alllink (FinAllLink)
	WaitReasonStrings = "runtime.waitReasonStrings" // [...]string, by g.waitreason
)

// A Program is where Variable looks: a process, a core file or an executable file, with
// addresses of one of them.
type Program struct {
	Code     io.ReaderAt                                   // by address; at least the text of the program
	Function func(name string) (low, high uint64, ok bool) // by the linker's name, of the symbol table or .gopclntab
	Symbol   func(name string) (at uint64, ok bool)        // of a variable, nil in a stripped program
}

// Variable is the address of a variable of the runtime, one of those above.
//
// If no symbol says it, it is in the code of functions that use it, whose names stripped
// programs have too: the compiler addresses variables relative to the instruction. Each rule
// names functions that all have been in each version, and what each does with the variable;
// the one address with which all do what they should is the variable. If it is not one, there
// is an error and no guess.
func (p Program) Variable(name string) (uint64, error) {
	if p.Symbol != nil {
		if at, ok := p.Symbol(name); ok {
			return at, nil
		}
	}
	uses, ok := variableUses[name]
	if !ok {
		return 0, fmt.Errorf("%s: no such variable", name)
	}
	var found []uint64
	for i, u := range uses {
		have, err := p.used(u)
		if err != nil {
			return 0, fmt.Errorf("%s: not in the symbol table; %s: %w", name, u.function, err)
		}
		if i > 0 {
			have = slices.DeleteFunc(have, func(a uint64) bool { return !slices.Contains(found, a) })
		}
		found = have
	}
	if len(found) != 1 {
		return 0, fmt.Errorf("%s: not in the symbol table, and not found by the code that uses it (%d addresses instead of one)", name, len(found))
	}
	return found[0], nil
}

// A use is what a function does with a variable.
type use struct {
	function string // or several with spaces: the first that there is, for one that others have inlined may not be there
	how      func(p Program, list []operand) []uint64
}

var variableUses = map[string][]use{
	AllGs:             {{"runtime.forEachG", words(2)}, {"runtime.allgadd", words(3)}},
	AllMs:             {{"runtime.mcommoninit", both(loads, addresses)}, {"runtime.schedtrace", loads}},
	Heap:              {{"runtime.(*mcentral).grow", receiver("runtime.(*mheap).alloc")}, {"runtime.stackpoolalloc", receiver("runtime.(*mheap).allocManual")}},
	FirstModule:       {{"runtime.findmoduledatap runtime.findfunc", addresses}, {"runtime.modulesinit", addresses}},
	AllFinalizers:     {{"runtime.queuefinalizer", loads}, {"runtime.markroot", loads}},
	WaitReasonStrings: {{"runtime.waitReason.String", indexed}},
}

// An operand is what an instruction has to do with a variable, or that it calls.
type operand struct {
	inst x86asm.Inst
	at   uint64 // of the variable, or the function that is called; 0 if neither
}

// taken tells an instruction that takes the address.
func (o operand) taken() bool { return o.at != 0 && o.inst.Op == x86asm.LEA }

// moved tells a move of 8 bytes to or from the variable.
func (o operand) moved() bool { return o.at != 0 && o.inst.Op == x86asm.MOV && o.inst.MemBytes == 8 }

func (o operand) loaded() bool {
	_, mem := o.inst.Args[1].(x86asm.Mem)
	return o.moved() && mem
}

// loads are the words that are read to a register.
func loads(_ Program, list []operand) []uint64 { return where(list, operand.loaded) }

// addresses are the variables whose addresses are taken.
func addresses(_ Program, list []operand) []uint64 { return where(list, operand.taken) }

// both are the variables that do for two.
func both(a, b func(Program, []operand) []uint64) func(Program, []operand) []uint64 {
	return func(p Program, list []operand) []uint64 {
		other := b(p, list)
		return slices.DeleteFunc(a(p, list), func(at uint64) bool { return !slices.Contains(other, at) })
	}
}

// words are the first of n words in a row that are read or written: of a slice.
func words(n int) func(Program, []operand) []uint64 {
	return func(_ Program, list []operand) []uint64 {
		all := where(list, operand.moved)
		return slices.DeleteFunc(slices.Clone(all), func(at uint64) bool {
			for i := 1; i < n; i++ {
				if !slices.Contains(all, at+8*uint64(i)) {
					return true
				}
			}
			return false
		})
	}
}

// indexed are the arrays whose address is taken for the base of an access with an index soon
// after.
func indexed(_ Program, list []operand) []uint64 {
	var found []uint64
	for i, o := range list {
		if !o.taken() {
			continue
		}
		for _, next := range list[i+1 : min(i+5, len(list))] {
			for _, arg := range next.inst.Args {
				if m, ok := arg.(x86asm.Mem); ok && m.Index != 0 && x86asm.Arg(m.Base) == o.inst.Args[0] {
					found = append(found, o.at)
				}
			}
		}
	}
	return compact(found)
}

// receiver are the variables that a method or a function is called with: their address is taken to
// the first register of Go's ABIInternal soon before.
func receiver(method string) func(Program, []operand) []uint64 {
	return func(p Program, list []operand) []uint64 {
		entry, _, ok := p.Function(method)
		if !ok {
			return nil
		}
		var found []uint64
		for i, o := range list {
			if o.inst.Op != x86asm.CALL || o.at != entry {
				continue
			}
			for j := i - 1; j >= max(0, i-6); j-- {
				if before := list[j]; before.inst.Args[0] == x86asm.RAX || before.inst.Args[0] == x86asm.EAX {
					if before.taken() {
						found = append(found, before.at)
					}
					break
				}
			}
		}
		return compact(found)
	}
}

func where(list []operand, is func(operand) bool) []uint64 {
	var found []uint64
	for _, o := range list {
		if is(o) {
			found = append(found, o.at)
		}
	}
	return compact(found)
}

func compact(list []uint64) []uint64 {
	slices.Sort(list)
	return slices.Compact(list)
}

// maxCode bounds a function of the runtime, in bytes: markroot has 4 KiB at most.
const maxCode = 64 << 10

// used are the variables with which a function does as it is said.
func (p Program) used(u use) ([]uint64, error) {
	var low, high uint64
	ok := false
	for name := range strings.FieldsSeq(u.function) {
		if low, high, ok = p.Function(name); ok {
			break
		}
	}
	if !ok {
		return nil, errors.New("no such function")
	}
	if high <= low || high-low > maxCode {
		return nil, fmt.Errorf("a size of %d bytes is not that of a function of a Go runtime", high-low)
	}
	code := make([]byte, high-low)
	if n, err := p.Code.ReadAt(code, int64(low)); n < len(code) {
		return nil, fmt.Errorf("its code: %w", noEOF(err))
	}
	list, err := operands(code, low)
	if err != nil {
		return nil, err
	}
	return u.how(p, list), nil
}

// noEOF is why a reader gave less than was asked for.
func noEOF(err error) error {
	if err == nil {
		return io.ErrUnexpectedEOF
	}
	return err
}

// operands decodes a function.
func operands(code []byte, at uint64) ([]operand, error) {
	var list []operand
	for len(code) > 0 {
		inst, err := x86asm.Decode(code, 64)
		if err != nil || inst.Len == 0 {
			return nil, fmt.Errorf("no known instruction at %#x", at)
		}
		code, at = code[inst.Len:], at+uint64(inst.Len)
		o := operand{inst: inst}
		for _, arg := range inst.Args {
			switch arg := arg.(type) {
			case x86asm.Mem:
				if arg.Base == x86asm.RIP {
					o.at = at + uint64(arg.Disp)
				}
			case x86asm.Rel:
				if inst.Op == x86asm.CALL {
					o.at = at + uint64(int64(arg))
				}
			}
		}
		list = append(list, o)
	}
	return list, nil
}
