package unwind

import (
	"errors"
	"fmt"

	"hdb/internal/addr"
)

// Call frame instructions (DWARF 5, section 7.24; the GNU ones: Linux Standard Base
// 5.0 Core, section 10.5). The first three keep an operand in their low six bits.
const (
	cfaAdvanceLoc = 0x40
	cfaOffset     = 0x80
	cfaRestore    = 0xc0

	cfaNop              = 0x00
	cfaSetLoc           = 0x01
	cfaAdvanceLoc1      = 0x02
	cfaAdvanceLoc2      = 0x03
	cfaAdvanceLoc4      = 0x04
	cfaOffsetExtended   = 0x05
	cfaRestoreExtended  = 0x06
	cfaUndefined        = 0x07
	cfaSameValue        = 0x08
	cfaRegister         = 0x09
	cfaRememberState    = 0x0a
	cfaRestoreState     = 0x0b
	cfaDefCFA           = 0x0c
	cfaDefCFARegister   = 0x0d
	cfaDefCFAOffset     = 0x0e
	cfaDefCFAExpression = 0x0f
	cfaExpression       = 0x10
	cfaOffsetExtendedSF = 0x11
	cfaDefCFASF         = 0x12
	cfaDefCFAOffsetSF   = 0x13
	cfaValOffset        = 0x14
	cfaValOffsetSF      = 0x15
	cfaValExpression    = 0x16
	cfaMIPSAdvanceLoc8  = 0x1d
	cfaGNUArgsSize      = 0x2e
	cfaGNUNegOffset     = 0x2f
)

// maxRemembered bounds the stack of remembered rows. Compilers nest one deep.
const maxRemembered = 64

// A program runs the instructions of a CIE and an FDE up to one address. Its row is
// complete when the next one would begin above the address.
type program struct {
	reader
	fde        *fde
	bases      bases
	target     uint64
	loc        uint64 // where row begins
	next       uint64 // where the row behind it begins, if done
	row        Row
	initial    Row // as the CIE left it, for the restore instructions
	remembered []Row
	done       bool
	located    bool // an instruction for the location was run
}

// rowAt is the row of f for the address a, which f covers. An error after the row is
// ignored. There is no row after an error.
func (f *fde) rowAt(a uint64, b bases) (Row, error) {
	b.function = f.low
	p := program{fde: f, bases: b, target: a, loc: f.low}
	p.row.Function = Range{Low: addr.File(f.low), High: addr.File(f.high)}
	p.row.Signal = f.cie.signal
	p.row.High = p.row.Function.High
	// The CIE's instructions have no address. After an erroneous advance among them, the
	// row does not start at the function.
	if err := p.run(f.cie.initial, f.cie.initialAt); err != nil {
		return Row{}, err
	}
	if p.loc != f.low {
		return Row{}, errors.New("location advanced in a CIE")
	}
	p.initial = p.row
	if err := p.run(f.program, f.programAt); err != nil {
		return Row{}, err
	}
	p.row.Low = addr.File(p.loc)
	var own Row
	row := p.complete(&own)
	if row == nil {
		return Row{}, errors.New("no rule for the CFA")
	}
	return *row, nil
}

// complete is the finished row: the program's, or a copy in own if the CIE has another
// return address column. It is nil without a rule for the CFA.
func (p *program) complete(own *Row) *Row {
	row := &p.row
	if ra := p.fde.cie.ra; ra != uint64(RA) {
		*own = p.row
		row = own
		row.setRule(uint64(RA), row.Rules[ra])
		row.setRule(ra, Rule{})
	}
	if row.CFA.Kind != Register && row.CFA.Kind != ValExpression {
		return nil
	}
	return row
}

func (p *program) run(code []byte, at uint64) error {
	p.reader = readerOf(code, at)
	return p.resume()
}

// resume continues at the reader's position.
func (p *program) resume() error {
	for !p.done && p.Err == nil && p.Rest() > 0 {
		op := p.U8()
		switch op & 0xc0 {
		case cfaAdvanceLoc:
			p.advance(uint64(op & 0x3f))
		case cfaOffset:
			p.saved(uint64(op&0x3f), int64(p.Uleb()))
		case cfaRestore:
			p.restore(uint64(op & 0x3f))
		default:
			p.extended(op)
		}
	}
	return p.Err
}

// extended runs the instructions without an operand in the opcode.
func (p *program) extended(op uint8) {
	switch op {
	case cfaNop:
	case cfaSetLoc:
		p.moveTo(p.pointer(p.fde.cie.encoding, p.bases))
	case cfaAdvanceLoc1:
		p.advance(uint64(p.U8()))
	case cfaAdvanceLoc2:
		p.advance(uint64(p.U16()))
	case cfaAdvanceLoc4:
		p.advance(uint64(p.U32()))
	case cfaMIPSAdvanceLoc8:
		p.advance(p.U64())
	case cfaRememberState:
		p.remember()
	case cfaRestoreState:
		p.recall()
	case cfaDefCFA, cfaDefCFARegister, cfaDefCFAOffset, cfaDefCFAExpression, cfaDefCFASF, cfaDefCFAOffsetSF:
		p.defineCFA(op)
	case cfaGNUArgsSize:
		p.Uleb() // outgoing arguments: of interest to exception landing pads only
	default:
		p.registerRule(op, p.Uleb())
	}
}

// registerRule runs the instructions whose first operand is a register.
func (p *program) registerRule(op uint8, reg uint64) {
	switch op {
	case cfaOffsetExtended:
		p.saved(reg, int64(p.Uleb()))
	case cfaOffsetExtendedSF:
		p.saved(reg, p.Sleb())
	case cfaGNUNegOffset:
		p.saved(reg, -int64(p.Uleb()))
	case cfaRestoreExtended:
		p.restore(reg)
	case cfaUndefined:
		p.row.setRule(reg, Rule{Kind: Undefined})
	case cfaSameValue:
		p.row.setRule(reg, Rule{Kind: SameValue})
	case cfaRegister:
		rule := Rule{Kind: Undefined}
		if from := p.Uleb(); from < numRegs {
			rule = Rule{Kind: Register, Reg: Reg(from)}
		}
		p.row.setRule(reg, rule)
	case cfaValOffset:
		p.row.setRule(reg, Rule{Kind: ValOffset, Offset: int64(p.Uleb()) * p.fde.cie.dataAlign})
	case cfaValOffsetSF:
		p.row.setRule(reg, Rule{Kind: ValOffset, Offset: p.Sleb() * p.fde.cie.dataAlign})
	case cfaExpression:
		p.row.setRule(reg, Rule{Kind: Expression, Expr: p.Take(p.Uleb())})
	case cfaValExpression:
		p.row.setRule(reg, Rule{Kind: ValExpression, Expr: p.Take(p.Uleb())})
	default:
		p.Fail(fmt.Errorf("unknown call frame instruction %#x", op))
	}
}

func (p *program) defineCFA(op uint8) {
	cfa := &p.row.CFA
	switch op {
	case cfaDefCFA, cfaDefCFASF, cfaDefCFARegister:
		reg := p.Uleb()
		if p.Err == nil && reg >= numRegs {
			p.Fail(fmt.Errorf("CFA in register %d, which is no general register", reg))
			return
		}
		cfa.Kind, cfa.Reg, cfa.Expr = Register, Reg(reg), nil
	}
	switch op {
	case cfaDefCFA, cfaDefCFAOffset:
		cfa.Offset = int64(p.Uleb())
	case cfaDefCFASF, cfaDefCFAOffsetSF:
		cfa.Offset = p.Sleb() * p.fde.cie.dataAlign
	case cfaDefCFAExpression:
		// The offset stays: libgcrypt's hand-written CFI switches from an expression to a
		// register with def_cfa_register alone, which other unwinders support.
		cfa.Kind, cfa.Expr = ValExpression, p.Take(p.Uleb())
	}
}

func (p *program) saved(reg uint64, factored int64) {
	p.row.setRule(reg, Rule{Kind: Offset, Offset: factored * p.fde.cie.dataAlign})
}

func (p *program) restore(reg uint64) {
	if reg < numRegs {
		p.row.setRule(reg, p.initial.Rules[reg])
	}
}

func (p *program) remember() {
	if len(p.remembered) == maxRemembered {
		p.Fail(fmt.Errorf("more than %d remembered states", maxRemembered))
		return
	}
	p.remembered = append(p.remembered, p.row)
}

// recall restores the remembered rules, including the CFA's, as all producers expect.
func (p *program) recall() {
	last := len(p.remembered) - 1
	if last < 0 {
		p.Fail(errors.New("restore_state without remember_state"))
		return
	}
	p.row = p.remembered[last]
	p.remembered = p.remembered[:last]
}

func (p *program) advance(factored uint64) { p.moveTo(p.loc + factored*p.fde.cie.codeAlign) }

// moveTo begins the next row at loc, or ends the program if the target is before loc.
// Locations only increase.
func (p *program) moveTo(loc uint64) {
	p.located = true
	switch {
	case p.Err != nil:
	case loc < p.loc:
		p.Fail(fmt.Errorf("location goes back from %#x to %#x", p.loc, loc))
	case loc > p.target:
		p.row.High = min(p.row.High, addr.File(loc))
		p.next, p.done = loc, true
	default:
		p.loc = loc
	}
}
