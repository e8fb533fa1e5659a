package unwind

import "hdb/internal/addr"

// A RuleKind says how the caller's value of a register is recovered (DWARF 5,
// section 6.4.1).
type RuleKind uint8

// The kinds of rules.
const (
	Unspecified   RuleKind = iota // no rule: a callee-saved register is unchanged, others are lost
	Undefined                     // lost; for RA: there is no caller
	SameValue                     // unchanged
	Offset                        // saved at CFA + Offset
	ValOffset                     // is CFA + Offset
	Register                      // in Reg; as CFA rule: Reg + Offset
	Expression                    // saved at the address that Expr computes from the CFA
	ValExpression                 // is what Expr computes from the CFA; as CFA rule: Expr alone
)

// A Rule recovers one register, or the CFA, whose Kind is Register or ValExpression.
type Rule struct {
	Kind   RuleKind
	Reg    Reg
	Offset int64  // in bytes
	Expr   []byte // a DWARF expression, part of the section
}

// A Row is what CFI says about a range of code.
type Row struct {
	Low, High addr.File // where the row holds: [Low, High)
	// Function is the range of the row's FDE: the function, or a part of one.
	Function Range
	CFA      Rule
	Rules    [numRegs]Rule // by register; Rules[RA] finds the return address
	// Signal marks the trampoline of a signal handler, whose caller was interrupted
	// (augmentation S).
	Signal bool
	// Switch says how the caller is found where it has another stack. CFA is then of no use.
	Switch Switch

	set     uint32 // bit per register whose rule is not Unspecified
	vectors bool   // rules of registers that Rules leaves out are, or were, there
}

// SetRule has a rule recover a register of the caller, in a row that is not made of CFI.
func (r *Row) SetRule(reg Reg, rule Rule) { r.setRule(uint64(reg), rule) }

func (r *Row) setRule(reg uint64, rule Rule) {
	if reg >= numRegs {
		r.vectors = true
		return // a register that no frame is found through
	}
	r.Rules[reg] = rule
	if rule.Kind == Unspecified {
		r.set &^= 1 << reg
	} else {
		r.set |= 1 << reg
	}
}

// isRoot reports whether a calling frame with return address 0 is the first of its thread:
// its stack holds nothing but the return address. A compiled function must align the stack
// before a call (System V ABI, section 3.2.2). Functions such as Go's goexit were never
// called.
func (r *Row) isRoot() bool {
	return r.CFA.Kind == Register && r.CFA.Reg == RSP && r.CFA.Offset == 8
}
