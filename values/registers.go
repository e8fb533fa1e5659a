package values

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hdb/symbols/dwarf"
	"hdb/unwind"
)

// Errors of registers that have no value.
var (
	ErrNotSaved = errors.New("not saved in this frame") // by the functions that it called
	ErrAbsent   = errors.New("this machine has no such register")
)

// DWARF numbers of registers that are not general ones (System V ABI for AMD64, figure 3.36).
const (
	regXMM0      = 17
	regST0       = 33
	regFlags     = 49
	regES        = 50 // then cs, ss, ds, fs and gs
	regFSBase    = 58
	regGSBase    = 59
	regMXCSR     = 64
	lastRegister = regMXCSR
)

// segments are the segment registers in the order of their DWARF numbers.
var segments = [...]string{"es", "cs", "ss", "ds", "fs", "gs"}

// registerName is the name of such a register, "" for one that hdb does not read.
func registerName(n uint64) string {
	switch {
	case n >= regXMM0 && n < regXMM0+16:
		return fmt.Sprintf("xmm%d", n-regXMM0)
	case n >= regST0 && n < regST0+8:
		return fmt.Sprintf("st%d", n-regST0)
	case n == regFlags:
		return "eflags"
	case n >= regES && n < regES+uint64(len(segments)):
		return segments[n-regES]
	case n == regFSBase:
		return "fs_base"
	case n == regGSBase:
		return "gs_base"
	case n == regMXCSR:
		return "mxcsr"
	}
	return ""
}

// registers are the registers of a frame by their names.
type registers struct {
	prog *Program
	f    *Frame
}

// register is a register by its name in gdb.
func (r registers) register(name string) (Value, error) {
	alias := map[string]string{"pc": "rip", "sp": "rsp", "fp": "rbp"}
	if a, ok := alias[name]; ok {
		name = a
	}
	for reg := unwind.RAX; reg <= unwind.RIP; reg++ {
		if size, off, ok := partOf(reg.String(), name); ok {
			return r.general(name, reg, size, off)
		}
	}
	return r.special(name)
}

// partOf tells which bytes of a general register a name means: rax is all of eax, ax, al and
// ah, and r8 of r8d, r8w and r8l (r8b in AMD's manuals).
func partOf(reg, name string) (size, off int, ok bool) {
	if name == reg {
		return 8, 0, true
	}
	base := reg[1:]
	if base[0] >= '0' && base[0] <= '9' {
		suffix, ok := strings.CutPrefix(name, reg)
		size, known := map[string]int{"d": 4, "w": 2, "l": 1, "b": 1}[suffix]
		return size, 0, ok && known
	}
	low := strings.TrimSuffix(base, "x") + "l"
	switch {
	case name == "e"+base:
		return 4, 0, true
	case reg == "rip":
		return 0, 0, false
	case name == base:
		return 2, 0, true
	case name == low:
		return 1, 0, true
	case base[1] == 'x' && name == base[:1]+"h":
		return 1, 1, true
	}
	return 0, 0, false
}

func (r registers) general(name string, reg unwind.Reg, size, off int) (Value, error) {
	if r.f == nil {
		return Value{}, fmt.Errorf("$%s: %w", name, ErrNoFrame)
	}
	v, ok := r.f.Regs.Get(reg)
	if !ok {
		return Value{}, fmt.Errorf("$%s: %w", name, ErrNotSaved)
	}
	t := r.prog.cType("long")
	switch {
	case size == 4:
		t = r.prog.cType("int")
	case size < 4:
		t = baseType(r.prog, fmt.Sprintf("int%d_t", 8*size), int64(size), encSigned)
	case reg == unwind.RIP:
		t = (&Type{Kind: Function, size: 1, prog: r.prog, lang: dwarf.LangC, elem: &Type{Kind: Void, Name: "void", prog: r.prog}, elemOK: true}).PointerTo()
	case reg == unwind.RSP || reg == unwind.RBP:
		t = r.prog.voidPointer()
	}
	out := Number(t, v>>(8*off))
	out.place, out.reg, out.regOff, out.frame = inRegister, reg, int64(off), r.f
	return out, nil
}

// special is a register of the x87 or SSE, or the flags register.
func (r registers) special(name string) (Value, error) {
	var n uint64
	var t *Type
	index := func(prefix string, limit int) (uint64, bool) {
		digits, ok := strings.CutPrefix(name, prefix)
		i, err := strconv.Atoi(digits)
		return uint64(i), ok && err == nil && i >= 0 && i < limit && strconv.Itoa(i) == digits
	}
	if i, ok := index("xmm", 16); ok {
		n, t = regXMM0+i, r.vectorType(16)
	} else if i, ok := index("ymm", 16); ok {
		n, t = regXMM0+i, r.vectorType(32)
	} else if i, ok := index("st", 8); ok {
		n, t = regST0+i, baseType(r.prog, "i387_ext", 10, encFloat)
	} else if name == "eflags" {
		n, t = regFlags, baseType(r.prog, "i386_eflags", 4, encFlags)
	} else if i := slices.Index(segments[:], name); i >= 0 {
		n, t = regES+uint64(i), r.prog.cType("int")
	} else if name == "fs_base" {
		n, t = regFSBase, r.prog.cType("long")
	} else if name == "gs_base" {
		n, t = regGSBase, r.prog.cType("long")
	} else if name == "mxcsr" {
		n, t = regMXCSR, baseType(r.prog, "i386_mxcsr", 4, encFlags)
	} else {
		return Value{}, fmt.Errorf("$%s: %w: see info registers", name, errNoRegister)
	}
	if r.f == nil {
		return Value{}, fmt.Errorf("$%s: %w", name, ErrNoFrame)
	}
	b, ok := r.f.register(n)
	switch {
	case !ok:
		return Value{}, fmt.Errorf("$%s: %w", name, ErrNotSaved)
	case int64(len(b)) < t.Size():
		return Value{}, fmt.Errorf("$%s: %w", name, ErrAbsent)
	}
	return Value{Type: t, data: b[:t.Size()], place: inRegister, reg: unwind.Reg(n), frame: r.f}, nil
}

// storeRegister writes a register, or some of its bytes.
func (f *Frame) store(to Value, b []byte) (Value, error) {
	if f == nil || to.reg <= unwind.RIP && f.Set == nil || to.reg > unwind.RIP && f.SetWide == nil || to.bits > 0 {
		return Value{}, errors.New("the register cannot be changed in this frame")
	}
	old, ok := f.register(uint64(to.reg))
	if !ok || to.regOff < 0 || to.regOff+int64(len(b)) > int64(len(old)) {
		return Value{}, errors.New("the value is no longer in its register")
	}
	copy(old[to.regOff:], b)
	if to.reg > unwind.RIP {
		if err := f.SetWide(uint64(to.reg), old[:to.regOff+int64(len(b))]); err != nil {
			return Value{}, err
		}
	} else {
		if err := f.Set(to.reg, decodeUint(old)); err != nil {
			return Value{}, err
		}
		f.Regs.Set(to.reg, decodeUint(old))
	}
	to.data = b
	return to, nil
}

// vectorType is the union type that gdb gives to a vector register of size bytes.
func (r registers) vectorType(size int64) *Type {
	u := &Type{Kind: Struct, Tag: dwarf.TagUnionType, Name: fmt.Sprintf("vec%d", 8*size), size: size, prog: r.prog, full: true, lang: dwarf.LangC}
	add := func(name, short string, elem *Type) {
		n := size / elem.size
		array := elem.ArrayOf(n)
		array.vector = true
		u.fields = append(u.fields, Field{
			Name: fmt.Sprintf("v%d_%s", n, name),
			Type: &Type{Kind: Typedef, Name: fmt.Sprintf("v%d%s", n, short), size: -1, prog: r.prog, elem: array, elemOK: true, lang: dwarf.LangC},
		})
	}
	add("bfloat16", "bf16", baseType(r.prog, "bfloat16", 2, encFloat))
	add("half", "h", baseType(r.prog, "half", 2, encFloat))
	add("float", "f", r.prog.cType("float"))
	add("double", "d", r.prog.cType("double"))
	for _, n := range []int64{1, 2, 4, 8} {
		add(fmt.Sprintf("int%d", 8*n), fmt.Sprintf("i%d", 8*n), baseType(r.prog, fmt.Sprintf("int%d_t", 8*n), n, encSigned))
	}
	if size == 16 {
		u.fields = append(u.fields, Field{Name: "uint128", Type: baseType(r.prog, "uint128_t", 16, encUnsigned)})
	} else {
		add("int128", "i128", baseType(r.prog, "int128_t", 16, encSigned))
	}
	return u
}

// encFlags is an encoding of hdb's own, outside DWARF's range: a flags register.
const encFlags = 0x100

// flagsText names the set bits of a flags register, as gdb does.
func flagsText(register string, n uint64) string {
	names := map[int]string{0: "CF", 2: "PF", 4: "AF", 6: "ZF", 7: "SF", 8: "TF", 9: "IF", 10: "DF", 11: "OF", 14: "NT", 16: "RF", 17: "VM", 18: "AC", 19: "VIF", 20: "VIP", 21: "ID"}
	if register == "i386_mxcsr" {
		names = map[int]string{0: "IE", 1: "DE", 2: "ZE", 3: "OE", 4: "UE", 5: "PE", 6: "DAZ", 7: "IM", 8: "DM", 9: "ZM", 10: "OM", 11: "UM", 12: "PM", 15: "FZ"}
	}
	text := "["
	for bit := range 32 {
		if n>>bit&1 != 0 && names[bit] != "" {
			text += " " + names[bit]
		}
	}
	return text + " ]"
}
