package desk

import (
	"bytes"
	"fmt"
	"strings"

	"golang.org/x/arch/x86/x86asm"

	"hdb/internal/addr"
	"hdb/internal/lazyregexp"
)

// MaxInstruction is the longest x86 instruction, in bytes.
const MaxInstruction = 15

// An Instruction is one of x86-64 as gdb writes it.
type Instruction struct {
	Addr addr.Run
	Code []byte
	Text string
}

// SymbolText is the symbol at an address with the distance from its beginning, "" without.
func (c *Desk) SymbolText(a addr.Run) string {
	sym, err := c.Session.Names().Symbols.At(a)
	if err != nil {
		return ""
	}
	return SymbolText(sym.Name, sym.Offset)
}

// decodeInstruction reads the instruction that code, which is not empty, begins with.
// name is the symbol at an address, or "".
func decodeInstruction(code []byte, at addr.Run, name func(addr.Run) string) Instruction {
	inst, err := x86asm.Decode(code, 64)
	switch {
	case bytes.HasPrefix(code, []byte{0xf3, 0x0f, 0x1e, 0xfa}): // x86asm knows no CET
		return Instruction{at, code[:4], "endbr64"}
	case len(code) > 2 && code[0] == 0xc5 && code[1]&0x7b == 0x78 && code[2] == 0x77: // nor the length of these
		return Instruction{at, code[:3], map[byte]string{0: "vzeroupper", 4: "vzeroall"}[code[1]&4]}
	case err != nil || inst.Op == 0 || inst.Len > len(code):
		return Instruction{at, code[:1], fmt.Sprintf("(bad) %#02x", code[0])}
	}
	return Instruction{at, code[:inst.Len], assembly(inst, at, name)}
}

// assembly is an instruction as gdb writes it, with the symbol that it refers to.
func assembly(inst x86asm.Inst, at addr.Run, name func(addr.Run) string) string {
	next := at + addr.Run(inst.Len)
	var target addr.Run
	branch, relative := false, false
	for i, a := range inst.Args {
		switch a := a.(type) {
		case x86asm.Rel:
			target, branch = next+addr.Run(int64(a)), true
		case x86asm.Mem:
			if a.Disp == int64(uint32(a.Disp)) { // x86asm takes those of 32 bits for unsigned
				a.Disp = int64(int32(a.Disp))
				inst.Args[i] = a
			}
			if a.Base == x86asm.RIP {
				target, relative = next+addr.Run(a.Disp), true
			}
		}
	}
	text := asBinutils(inst, x86asm.GNUSyntax(inst, uint64(at), nil))
	symbol := name(target)
	if symbol != "" {
		symbol = " <" + symbol + ">"
	}
	switch {
	case branch:
		return text + symbol
	case relative:
		return fmt.Sprintf("%s  # %v%s", text, target, symbol)
	}
	return text
}

// unscaled are a base and an index without a scale.
var unscaled = lazyregexp.New(`\((%\w+),(%\w+)\)`)

// asBinutils changes what x86asm writes otherwise than gdb: the suffix of instructions that
// have one size only, names of instructions, and an index without a scale.
func asBinutils(inst x86asm.Inst, text string) string {
	op, rest, _ := strings.Cut(text, " ")
	switch {
	case op == "callq", op == "retq", op == "leaveq", op == "jmpq", op == "pushq" && strings.HasPrefix(rest, "$"):
		op = strings.TrimSuffix(op, "q")
	case inst.Op == x86asm.MOVSXD && inst.DataSize == 64:
		op = strings.Replace(op, "movsxd", "movslq", 1)
	case op == "cdqe":
		op = "cltq"
	case op == "mov" && inst.Len == 10 && strings.HasPrefix(rest, "$"):
		op = "movabs"
	case text == "data16 nop":
		op, rest = "xchg", "%ax,%ax"
	}
	rest = strings.Replace(rest, ",%riz)", ")", 1)
	return strings.TrimSpace(op + " " + unscaled().ReplaceAllString(rest, "($1,$2,1)"))
}

// DecodeAll reads the instructions that code consists of.
func DecodeAll(code []byte, at addr.Run, name func(addr.Run) string) (list []Instruction) {
	for len(code) > 0 {
		inst := decodeInstruction(code, at, name)
		list = append(list, inst)
		code, at = code[len(inst.Code):], at+addr.Run(len(inst.Code))
	}
	return list
}

// MaxDisassembled bounds the bytes that are disassembled at once.
const MaxDisassembled = 1 << 20
