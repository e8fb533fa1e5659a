package cfi

import (
	"fmt"
	"strings"

	"hdb/unwind"
)

// The tests' own conversion of rows, which shares nothing with the package's: it
// goes by way of text.

// expectRule is what Rule.String should say of a row.
func expectRule(row *unwind.Row) string {
	cfa, ra := ruleText(row.CFA), ruleText(row.Rules[unwind.RA])
	rbp, rbx, rsp := ruleText(row.Rules[unwind.RBP]), ruleText(row.Rules[unwind.RBX]), ruleText(row.Rules[unwind.RSP])
	switch {
	case ra == "undefined":
		return "root"
	case row.Signal && cfa == "=[rsp+160 deref]" && ra == "[rsp+168]" && rbp == "[rsp+120]" && rbx == "[rsp+128]" && (rsp == "" || rsp == "=c+0" || rsp == "[rsp+160]"):
		return "signal"
	case row.Signal, ra != "c-8", rsp != "" && rsp != "=c+0":
		return "unsupported"
	}
	var b strings.Builder
	number := 0
	switch {
	case scan(cfa, "=[rsp+8 rip+0 lit15 and lit%d ge lit3 shl plus]", &number):
		fmt.Fprintf(&b, "plt+%d", number)
	case scan(cfa, "=[rbp%d deref]", &number):
		fmt.Fprintf(&b, "*rbp%+d", number)
	default:
		for _, reg := range []string{"rsp", "rbp", "rbx"} {
			if scan(cfa, reg+"%d", &number) || scan(cfa, "=["+reg+"%d]", &number) {
				fmt.Fprintf(&b, "%s%+d", reg, number)
			}
		}
	}
	if b.Len() == 0 || number < -1<<31 || number >= 1<<31 {
		return "unsupported"
	}
	for _, reg := range []struct{ name, rule string }{{"rbp", rbp}, {"rbx", rbx}} {
		at := 0
		switch {
		case reg.rule == "" || reg.rule == "same":
		case scan(reg.rule, "c%d", &at) && near(at):
			fmt.Fprintf(&b, " %s=c%+d", reg.name, at)
		case scan(reg.rule, "[rbp%d]", &at) && near(at):
			fmt.Fprintf(&b, " %s=r%+d", reg.name, at)
		default:
			fmt.Fprintf(&b, " %s lost", reg.name)
		}
	}
	return b.String()
}

// expectations remembers expectRule by what it goes by.
type expectations map[[5]said]string

// said is a rule, comparable.
type said struct {
	kind   unwind.RuleKind
	reg    unwind.Reg
	offset int64
	expr   string
}

func (e expectations) of(row *unwind.Row) string {
	var key [5]said
	for i, r := range [...]*unwind.Rule{&row.CFA, &row.Rules[unwind.RA], &row.Rules[unwind.RSP], &row.Rules[unwind.RBP], &row.Rules[unwind.RBX]} {
		key[i] = said{r.Kind, r.Reg, r.Offset, string(r.Expr)}
	}
	if row.Signal {
		key[0].kind |= 0x80
	}
	want, ok := e[key]
	if !ok {
		want = expectRule(row)
		e[key] = want
	}
	return want
}

// scan reports whether text is the format with a number in it.
func scan(text, format string, number *int) bool {
	n, err := fmt.Sscanf(text, format, number)
	return n == 1 && err == nil && (text == fmt.Sprintf(format, *number) || text == fmt.Sprintf(strings.Replace(format, "%d", "%+d", 1), *number))
}

func near(at int) bool { return at%8 == 0 && -1024 <= at && at <= 1016 }

// ruleText writes a rule: c-8 and [expr] for a place, with = in front for a value.
func ruleText(r unwind.Rule) string {
	switch r.Kind {
	case unwind.Undefined:
		return "undefined"
	case unwind.SameValue:
		return "same"
	case unwind.Offset:
		return fmt.Sprintf("c%+d", r.Offset)
	case unwind.ValOffset:
		return fmt.Sprintf("=c%+d", r.Offset)
	case unwind.Register:
		return fmt.Sprintf("%v%+d", r.Reg, r.Offset)
	case unwind.Expression:
		return "[" + exprText(r.Expr) + "]"
	case unwind.ValExpression:
		return "=[" + exprText(r.Expr) + "]"
	}
	return ""
}

// exprText writes the operations of expressions that mean something here.
func exprText(e []byte) string {
	var words []string
	for len(e) > 0 {
		op := e[0]
		e = e[1:]
		names := map[byte]string{0x06: "deref", 0x1a: "and", 0x22: "plus", 0x24: "shl", 0x2a: "ge"}
		switch {
		case op >= 0x70 && op <= 0x80:
			number, shift := int64(0), 0
			for more := true; more; shift += 7 {
				if len(e) == 0 || shift > 63 {
					return "?"
				}
				number |= int64(e[0]&0x7f) << shift
				more = e[0]&0x80 != 0
				if !more && e[0]&0x40 != 0 && shift+7 < 64 {
					number -= 1 << (shift + 7)
				}
				e = e[1:]
			}
			words = append(words, fmt.Sprintf("%v%+d", unwind.Reg(op-0x70), number))
		case op >= 0x30 && op <= 0x4f:
			words = append(words, fmt.Sprintf("lit%d", op-0x30))
		case names[op] != "":
			words = append(words, names[op])
		default:
			words = append(words, "?")
		}
	}
	return strings.Join(words, " ")
}
