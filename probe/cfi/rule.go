package cfi

import (
	"fmt"
	"strings"
	"sync"

	"hdb/unwind"
)

// A Rule says how the walker finds a frame's caller, in 64 bits:
//
//	 63            32 31    24 23    16 15     8 7      0
//	┌────────────────┬────────┬────────┬────────┬────────┐
//	│   CFA offset   │ saved  │  rbx   │  rbp   │  form  │
//	│ int32, in bytes│ flags  │ slot   │ slot   │        │
//	└────────────────┴────────┴────────┴────────┴────────┘
//
// The slots are int8, in units of 8 bytes. The caller's rsp is the CFA, its return
// address is the word at CFA-8. A register without a flag is unchanged.
type Rule uint64

// A Form says where the CFA is, or that there is none.
type Form uint8

// The forms, part of what the walker reads. offset is the rule's CFA offset, rip the frame's PC or
// return address, unchanged.
const (
	SP            Form = iota // CFA = rsp + offset
	BP                        // CFA = rbp + offset
	BX                        // CFA = rbx + offset
	DerefBP                   // CFA = the word at rbp + offset: gcc's realigned stacks
	Root                      // no caller: the return address is undefined
	Signal                    // rsp is at the kernel's struct ucontext: a handler's return
	Unsupported               // there is CFI, but none that the walker can follow
	NoCFI                     // no FDE covers the code: rbp may be taken for a frame pointer
	PLT                       // CFA = rsp + 8, and 8 more if rip%16 >= offset
	Hidden                    // CFA = rsp + offset; a frame of the probe, not to be shown
	Entry                     // no caller: code at the ELF file's entry point without CFI
	ToGoroutine               // see unwind.ToGoroutine: offset is its Slot; with rbp the function has pushed it
	FromGoroutine             // see unwind.FromGoroutine
	// No caller: where functions of go statements return to. offset is the Creator of
	// unwind.Switch, the slot of rbp its ID.
	GoroutineEnd

	lastForm = GoroutineEnd
)

var formNames = [...]string{"rsp", "rbp", "rbx", "*rbp", "root", "signal", "unsupported", "no CFI", "plt", "hidden", "entry", "to goroutine", "from goroutine", "goroutine's end"}

// Flags says where the caller's rbp and rbx are.
type Flags uint8

// The flags; at most one for each register.
const (
	RBPAtCFA Flags = 1  // rbp is the word at CFA + 8*slot
	RBPAtRBP Flags = 2  // rbp is the word at the present rbp + 8*slot
	RBPLost  Flags = 4  // rbp cannot be found
	RBXAtCFA Flags = 16 // rbx is the word at CFA + 8*slot
	RBXAtRBP Flags = 32 // rbx is the word at the present rbp + 8*slot
	RBXLost  Flags = 64 // rbx cannot be found
)

// Form is where the CFA is.
func (r Rule) Form() Form { return Form(r) }

// Flags tells where the caller's rbp and rbx are.
func (r Rule) Flags() Flags { return Flags(r >> 24) }

// RBPSlot is where rbp is saved, in units of 8 bytes, as the flags say.
func (r Rule) RBPSlot() int8 { return int8(r >> 8) }

// RBXSlot is where rbx is saved, in units of 8 bytes, as the flags say.
func (r Rule) RBXSlot() int8 { return int8(r >> 16) }

// Offset is the CFA offset in bytes; of PLT entries the offset of their first
// instruction with the relocation's number pushed.
func (r Rule) Offset() int32 { return int32(r >> 32) }

// NewRule makes a rule. Slots without a flag must be 0,
// but for GoroutineEnd.
func NewRule(form Form, offset int32, flags Flags, rbp, rbx int8) Rule {
	return Rule(form) | Rule(uint8(rbp))<<8 | Rule(uint8(rbx))<<16 | Rule(flags)<<24 | Rule(uint32(offset))<<32
}

// String writes the rule as rsp+16 rbp=c-16 rbx=r-8: c is the CFA, r the present rbp.
func (r Rule) String() string {
	var b strings.Builder
	if int(r.Form()) < len(formNames) {
		b.WriteString(formNames[r.Form()])
	} else {
		fmt.Fprintf(&b, "form %d", r.Form())
	}
	switch r.Form() {
	case SP, BP, BX, DerefBP, Hidden, PLT, ToGoroutine:
		fmt.Fprintf(&b, "%+d", r.Offset())
	}
	for _, reg := range []struct {
		name  string
		flags Flags
		slot  int8
	}{{"rbp", r.Flags() & 0xf, r.RBPSlot()}, {"rbx", r.Flags() >> 4, r.RBXSlot()}} {
		switch reg.flags {
		case RBPAtCFA:
			fmt.Fprintf(&b, " %s=c%+d", reg.name, 8*int(reg.slot))
		case RBPAtRBP:
			fmt.Fprintf(&b, " %s=r%+d", reg.name, 8*int(reg.slot))
		case RBPLost:
			fmt.Fprintf(&b, " %s lost", reg.name)
		}
	}
	return b.String()
}

// The ids of the rules that every Rules begins with.
const (
	NoCFIID uint16 = iota
	UnsupportedID
	RootID
	SignalID
	EntryID
)

// maxRules bounds the kinds of rules: ids have 16 bits in the walker's cache of
// addresses, and all ones mean that an address is not in it.
const maxRules = 1<<16 - 1

// A Rules numbers the rules of all modules of an inferior: few hundred kinds occur.
// Ids stay as they are when rules are added. It is safe for concurrent use.
type Rules struct {
	mu   sync.Mutex
	list []Rule
	ids  map[Rule]uint16
}

// NewRules has the rules NoCFI, Unsupported, Root, Signal and Entry, with ids 0 to 4.
func NewRules() *Rules {
	r := &Rules{ids: map[Rule]uint16{}}
	for _, form := range [...]Form{NoCFI, Unsupported, Root, Signal, Entry} {
		r.ID(Rule(form))
	}
	return r
}

// ID is the rule's number, given to it now if it is new. When there are 65,535 kinds
// the others are UnsupportedID.
func (r *Rules) ID(rule Rule) uint16 {
	r.mu.Lock()
	defer r.mu.Unlock()
	id, ok := r.ids[rule]
	switch {
	case ok:
		return id
	case len(r.list) == maxRules:
		return UnsupportedID
	}
	id = uint16(len(r.list))
	r.list = append(r.list, rule)
	r.ids[rule] = id
	return id
}

// List is all rules by id. It is not changed later: a new List is longer.
func (r *Rules) List() []Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list[:len(r.list):len(r.list)]
}

// Operations of the DWARF expressions that have a form (DWARF 5, section 7.7.1).
const (
	opDeref = 0x06
	opBreg3 = 0x73
	opBreg6 = 0x76
	opBreg7 = 0x77
)

// ruleOf packs a row. What unwind.Walker can follow and the walker in the inferior
// cannot is Unsupported, or lost if it is about rbp or rbx.
func ruleOf(row *unwind.Row) Rule {
	ra := &row.Rules[unwind.RA]
	switch {
	case row.Switch.Kind != unwind.NoSwitch:
		return ruleOfSwitch(&row.Switch)
	case ra.Kind == unwind.Undefined:
		return Rule(Root)
	case row.Signal:
		if isKernelFrame(row) {
			return Rule(Signal)
		}
		return Rule(Unsupported)
	case ra.Kind != unwind.Offset || ra.Offset != -8 || !spIsCFA(&row.Rules[unwind.RSP]):
		return Rule(Unsupported)
	}
	form, offset := cfaForm(&row.CFA)
	if form == Unsupported || offset != int64(int32(offset)) {
		return Rule(Unsupported)
	}
	rbp, rbpFlag := slotOf(&row.Rules[unwind.RBP])
	rbx, rbxFlag := slotOf(&row.Rules[unwind.RBX])
	return NewRule(form, int32(offset), rbpFlag|rbxFlag<<4, rbp, rbx)
}

// ruleOfSwitch is the rule of code that calls on another stack. What it pushed is below the return
// address.
func ruleOfSwitch(s *unwind.Switch) Rule {
	const pushed = -2
	switch {
	case s.Kind == unwind.GoroutineEnd && s.ID%8 == 0 && s.ID/8 == int64(int8(s.ID/8)) && s.Creator == int64(int32(s.Creator)):
		return NewRule(GoroutineEnd, int32(s.Creator), 0, int8(s.ID/8), 0)
	case s.Kind == unwind.FromGoroutine:
		return NewRule(FromGoroutine, 0, RBPAtCFA|RBXLost, pushed, 0)
	case s.Kind != unwind.ToGoroutine || s.Slot != int64(int32(s.Slot)):
		return Rule(Unsupported)
	case s.Pushed:
		return NewRule(ToGoroutine, int32(s.Slot), RBPAtCFA, pushed, 0)
	}
	return NewRule(ToGoroutine, int32(s.Slot), 0, 0, 0)
}

// cfaForm is the form of a row's CFA and its offset in bytes.
func cfaForm(cfa *unwind.Rule) (Form, int64) {
	if cfa.Kind == unwind.Register {
		switch cfa.Reg {
		case unwind.RSP:
			return SP, cfa.Offset
		case unwind.RBP:
			return BP, cfa.Offset
		case unwind.RBX:
			return BX, cfa.Offset
		}
		return Unsupported, 0
	}
	if threshold, ok := pltThreshold(cfa.Expr); ok {
		return PLT, threshold
	}
	if offset, rest, ok := based(opBreg6, cfa.Expr); ok && len(rest) == 1 && rest[0] == opDeref {
		return DerefBP, offset
	}
	for _, plain := range [...]struct {
		op   byte
		form Form
	}{{opBreg7, SP}, {opBreg6, BP}, {opBreg3, BX}} {
		if offset, rest, ok := based(plain.op, cfa.Expr); ok && len(rest) == 0 {
			return plain.form, offset
		}
	}
	return Unsupported, 0
}

// spIsCFA reports whether the caller's rsp is the CFA, as it is without a rule.
func spIsCFA(rule *unwind.Rule) bool {
	return rule.Kind == unwind.Unspecified || rule.Kind == unwind.ValOffset && rule.Offset == 0
}

// slotOf is where rbp or rbx is saved, and the flag that says so, for rbp.
func slotOf(rule *unwind.Rule) (int8, Flags) {
	offset, flag := rule.Offset, RBPAtCFA
	switch rule.Kind {
	case unwind.Unspecified, unwind.SameValue:
		return 0, 0
	case unwind.Offset:
	case unwind.Expression:
		var rest []byte
		var ok bool
		if offset, rest, ok = based(opBreg6, rule.Expr); !ok || len(rest) != 0 {
			return 0, RBPLost
		}
		flag = RBPAtRBP
	default:
		return 0, RBPLost
	}
	if slot := int8(offset / 8); int64(slot)*8 == offset {
		return slot, flag
	}
	return 0, RBPLost
}

// based is the number of an expression that begins with a register plus a number,
// and what follows.
func based(op byte, expr []byte) (number int64, rest []byte, ok bool) {
	if len(expr) < 2 || expr[0] != op {
		return 0, nil, false
	}
	for i, shift := 1, uint(0); i < len(expr) && shift < 64; i++ {
		b := expr[i]
		number |= int64(b&0x7f) << shift
		shift += 7
		if b&0x80 == 0 {
			if b&0x40 != 0 && shift < 64 {
				number |= -1 << shift
			}
			return number, expr[i+1:], true
		}
	}
	return 0, nil, false
}

// pltThreshold knows the CFA of a PLT with lazy binding, as linkers write it:
//
//	breg7 (rsp) 8, breg16 (rip) 0, lit15, and, litN, ge, lit3, shl, plus
//
// N is the offset in an entry from which on the relocation's number is pushed.
func pltThreshold(expr []byte) (int64, bool) {
	const lit0, at = 0x30, 6
	want := [...]byte{0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22}
	if len(expr) != len(want) || expr[at] < lit0 || expr[at] > lit0+31 {
		return 0, false
	}
	want[at] = expr[at]
	return int64(expr[at] - lit0), [len(want)]byte(expr) == want
}

// Where the kernel's struct ucontext, at rsp, has the interrupted registers: struct
// sigcontext_64 in arch/x86/include/uapi/asm/sigcontext.h begins 40 bytes into it.
const (
	ucontextRBP = 120
	ucontextRBX = 128
	ucontextRSP = 160
	ucontextRIP = 168
)

// isKernelFrame reports whether a row with the augmentation S describes the frame
// that the kernel makes for a handler, as libc does. Other rows have it for code
// that was not called but has a frame of its own.
func isKernelFrame(row *unwind.Row) bool {
	sp, rest, ok := based(opBreg7, row.CFA.Expr)
	if row.CFA.Kind != unwind.ValExpression || !ok || sp != ucontextRSP || len(rest) != 1 || rest[0] != opDeref {
		return false
	}
	for _, saved := range [...]struct {
		reg unwind.Reg
		at  int64
	}{{unwind.RA, ucontextRIP}, {unwind.RBP, ucontextRBP}, {unwind.RBX, ucontextRBX}, {unwind.RSP, ucontextRSP}} {
		rule := &row.Rules[saved.reg]
		at, rest, ok := based(opBreg7, rule.Expr)
		isSaved := rule.Kind == unwind.Expression && ok && at == saved.at && len(rest) == 0
		if !isSaved && (saved.reg != unwind.RSP || !spIsCFA(rule)) {
			return false
		}
	}
	return true
}
