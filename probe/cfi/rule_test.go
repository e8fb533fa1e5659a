package cfi

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"hdb/unwind"
)

func TestRulePacking(t *testing.T) {
	r := NewRule(BX, -2, RBPAtCFA|RBXLost, -3, 4)
	if r != 0xffff_fffe_41_04_fd_02 {
		t.Errorf("%#x", uint64(r))
	}
	if r.Form() != BX || r.Offset() != -2 || r.Flags() != RBPAtCFA|RBXLost || r.RBPSlot() != -3 || r.RBXSlot() != 4 {
		t.Errorf("%v %d %d %d %d", r.Form(), r.Offset(), r.Flags(), r.RBPSlot(), r.RBXSlot())
	}
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{NewRule(SP, 16, 0, 0, 0), "rsp+16"},
		{NewRule(BP, 16, RBPAtCFA|RBXAtRBP, -2, -1), "rbp+16 rbp=c-16 rbx=r-8"},
		{NewRule(DerefBP, -8, RBPAtRBP|RBXLost, 0, 0), "*rbp-8 rbp=r+0 rbx lost"},
		{NewRule(PLT, 11, 0, 0, 0), "plt+11"},
		{Rule(Signal), "signal"},
		{Rule(200), "form 200"},
	} {
		if got := c.rule.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestRuleOf: every form, flag and limit, written as CFI.
func TestRuleOf(t *testing.T) {
	rbp, rbx := byte(unwind.RBP), byte(unwind.RBX)
	bp := func(program ...any) []byte { return asm(append([]any{cfaDefCFA, rbp, 16}, program...)...) }
	for _, c := range []struct {
		name    string
		program []byte
		want    string
	}{
		{"nothing said", nil, "rsp+8"},
		{"CFA in rsp", asm(cfaDefCFAOffset, uleb(4096)), "rsp+4096"},
		{"CFA in rbp", bp(), "rbp+16"},
		{"CFA in rbx", asm(cfaDefCFA, rbx, 24), "rbx+24"},
		{"CFA in r10", asm(cfaDefCFA, 10, 0), "unsupported"},
		{"largest offset", asm(cfaDefCFAOffset, uleb(1<<31-1)), "rsp+2147483647"},
		{"offset too large", asm(cfaDefCFAOffset, uleb(1<<31)), "unsupported"},
		{"negative offset", asm(cfaDefCFASF, rbp, sleb(2)), "rbp-16"},
		{"smallest offset", asm(cfaDefCFASF, rbp, sleb(1<<28)), "rbp-2147483648"},
		{"offset too small", asm(cfaDefCFASF, rbp, sleb(1<<28+1)), "unsupported"},

		{"CFA at rbp", asm(cfaDefCFAExpression, expr(opBreg6, sleb(-8), opDeref)), "*rbp-8"},
		{"CFA at rbp, far", asm(cfaDefCFAExpression, expr(opBreg6, sleb(-300), opDeref)), "*rbp-300"},
		{"CFA at rbp, padded", asm(cfaDefCFAExpression, expr(opBreg6, 0xf8, 0xff, 0x7f, opDeref)), "*rbp-8"},
		{"CFA at rbp, too far", asm(cfaDefCFAExpression, expr(opBreg6, sleb(-1<<31-1), opDeref)), "unsupported"},
		{"CFA by expression", asm(cfaDefCFAExpression, expr(opBreg7, sleb(24))), "rsp+24"},
		{"CFA by expression in rbp", asm(cfaDefCFAExpression, expr(opBreg6, sleb(24))), "rbp+24"},
		{"CFA by expression in rbx", asm(cfaDefCFAExpression, expr(opBreg3, sleb(24))), "rbx+24"},
		{"CFA at rsp", asm(cfaDefCFAExpression, expr(opBreg7, sleb(24), opDeref)), "unsupported"},
		{"CFA at r10", asm(cfaDefCFAExpression, expr(opBregR10, sleb(0), opDeref)), "unsupported"},
		{"CFA behind what is at rbp", asm(cfaDefCFAExpression, expr(opBreg6, sleb(24), opDeref, opPlusUconst, 8)), "unsupported"},
		{"empty expression", asm(cfaDefCFAExpression, expr()), "unsupported"},
		{"expression cut short", asm(cfaDefCFAExpression, expr(opBreg6, 0x80)), "unsupported"},
		{"expression of a number without end", asm(cfaDefCFAExpression, expr(opBreg6, slices.Repeat([]byte{0x80}, 12), 0, opDeref)), "unsupported"},

		{"lazy PLT", pltCFA(11), "plt+11"},
		{"lazy PLT with IBT", pltCFA(10), "plt+10"},
		{"another PLT", pltCFA(5), "plt+5"},
		{"no PLT", asm(cfaDefCFAExpression, expr(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x34, 0x24, 0x22)), "unsupported"},

		{"rbp and rbx saved", bp(cfaOffset|rbp, 2, cfaOffset|rbx, 3), "rbp+16 rbp=c-16 rbx=c-24"},
		{"lowest slot", bp(cfaOffset|rbp, uleb(128), cfaOffset|rbx, uleb(128)), "rbp+16 rbp=c-1024 rbx=c-1024"},
		{"slot too low", bp(cfaOffset|rbp, uleb(129), cfaOffset|rbx, 2), "rbp+16 rbp lost rbx=c-16"},
		{"highest slot", bp(cfaOffsetExtendedSF, rbx, sleb(-127)), "rbp+16 rbx=c+1016"},
		{"slot too high", bp(cfaOffsetExtendedSF, rbx, sleb(-128)), "rbp+16 rbx lost"},
		{"slot so low that it wraps around", bp(cfaOffset|rbx, uleb(1<<60)), "rbp+16 rbx lost"},
		{"saved at rbp", bp(cfaExpression, rbp, expr(opBreg6, 0), cfaExpression, rbx, expr(opBreg6, sleb(-40))), "rbp+16 rbp=r+0 rbx=r-40"},
		{"saved far from rbp", bp(cfaExpression, rbx, expr(opBreg6, sleb(-1032))), "rbp+16 rbx lost"},
		{"saved between words", bp(cfaExpression, rbx, expr(opBreg6, sleb(-12))), "rbp+16 rbx lost"},
		{"saved at rsp", bp(cfaExpression, rbx, expr(opBreg7, sleb(-8))), "rbp+16 rbx lost"},
		{"saved where memory says", bp(cfaExpression, rbx, expr(opBreg6, sleb(-8), opDeref)), "rbp+16 rbx lost"},
		{"undefined", bp(cfaUndefined, rbp, cfaUndefined, rbx), "rbp+16 rbp lost rbx lost"},
		{"same value", bp(cfaSameValue, rbp, cfaSameValue, rbx), "rbp+16"},
		{"in another register", bp(cfaRegister, rbp, 12), "rbp+16 rbp lost"},
		{"is near the CFA", bp(cfaValOffset, rbp, 2, cfaValExpression, rbx, expr(opBreg6, 0)), "rbp+16 rbp lost rbx lost"},
		{"others saved", bp(cfaOffset|12, 2, cfaOffset|15, 3), "rbp+16"},

		{"no return address", asm(cfaUndefined, unwind.RA), "root"},
		{"no return address, whatever the CFA", asm(cfaUndefined, unwind.RA, cfaDefCFA, 10, 0), "root"},
		{"return address elsewhere", asm(cfaOffset|byte(unwind.RA), 2), "unsupported"},
		{"return address in a register", asm(cfaRegister, unwind.RA, 5), "unsupported"}, // vfork
		{"return address by expression", asm(cfaExpression, unwind.RA, expr(opBreg7, 0)), "unsupported"},
		{"rsp is the CFA", asm(cfaValOffset, unwind.RSP, 0), "rsp+8"},
		{"rsp is not the CFA", asm(cfaValOffset, unwind.RSP, 1), "unsupported"},
		{"rsp saved", asm(cfaOffset|byte(unwind.RSP), 2), "unsupported"},
		{"kernel's frame without S", kernelFrame(), "unsupported"},
	} {
		table := newCFI(t, ehFrame(fde{0x1000, 16, false, c.program}))
		row, ok := table.RowAt(0x1000)
		if !ok {
			t.Errorf("%s: no row: %v", c.name, table.Damage())
			continue
		}
		if got := ruleOf(&row).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if expected := expectRule(&row); expected != c.want {
			t.Errorf("%s: the tests' own conversion says %s, want %s", c.name, expected, c.want)
		}
	}
}

func TestRuleOfSignalFrames(t *testing.T) {
	for _, c := range []struct {
		name    string
		program []byte
		want    string
	}{
		{"kernel's frame", kernelFrame(), "signal"},
		{"without rbp", asm(kernelFrame(), cfaSameValue, unwind.RBP), "unsupported"},
		{"rbx elsewhere", asm(kernelFrame(), cfaExpression, unwind.RBX, expr(opBreg7, sleb(136))), "unsupported"},
		{"rsp elsewhere", asm(kernelFrame(), cfaExpression, unwind.RSP, expr(opBreg7, sleb(136))), "unsupported"},
		{"rsp is the CFA", asm(kernelFrame(), cfaValOffset, unwind.RSP, 0), "signal"},
		{"rsp by no rule", asm(kernelFrame(), cfaRestoreExtended, unwind.RSP), "signal"},
		{"CFA elsewhere", asm(kernelFrame(), cfaDefCFAExpression, expr(opBreg7, sleb(168), opDeref)), "unsupported"},
		{"a frame like any other", nil, "unsupported"},
		{"no return address", asm(cfaUndefined, unwind.RA), "root"},
	} {
		row, ok := newCFI(t, ehFrame(fde{0x1000, 16, true, c.program})).RowAt(0x1000)
		if !ok {
			t.Fatalf("%s: no row", c.name)
		}
		if got := ruleOf(&row).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if expected := expectRule(&row); expected != c.want {
			t.Errorf("%s: the tests' own conversion says %s, want %s", c.name, expected, c.want)
		}
	}
}

func TestRules(t *testing.T) {
	r := NewRules()
	for id, want := range []Form{NoCFIID: NoCFI, UnsupportedID: Unsupported, RootID: Root, SignalID: Signal, EntryID: Entry} {
		if got := r.List()[id]; got != Rule(want) || r.ID(Rule(want)) != uint16(id) {
			t.Errorf("id %d is %v, want %v", id, got, Rule(want))
		}
	}
	before := r.List()
	a := r.ID(NewRule(SP, 8, 0, 0, 0))
	if a != uint16(len(before)) || r.ID(NewRule(SP, 8, 0, 0, 0)) != a || r.List()[a] != NewRule(SP, 8, 0, 0, 0) {
		t.Errorf("id %d of %v", a, r.List())
	}
	if b := r.ID(NewRule(SP, 16, 0, 0, 0)); b != a+1 || len(before) != int(a) {
		t.Errorf("next id %d, first list %v", b, before)
	}
}

func TestRulesAreFew(t *testing.T) {
	r := NewRules()
	for i := range int32(70_000) {
		id := r.ID(NewRule(SP, i, 0, 0, 0))
		if want := int(i) + 5; want < maxRules && id != uint16(want) || want >= maxRules && id != UnsupportedID {
			t.Fatalf("rule %d has id %d", i, id)
		}
	}
	if n := len(r.List()); n != 65_535 {
		t.Errorf("%d rules", n)
	}
	if id := r.ID(NewRule(SP, 100, 0, 0, 0)); id != 105 {
		t.Errorf("a known rule has id %d when there is no room", id)
	}
}

func TestRulesConcurrently(t *testing.T) {
	r := NewRules()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range int32(1000) {
				rule := NewRule(BP, i, 0, 0, 0)
				if id := r.ID(rule); r.List()[id] != rule {
					panic(fmt.Sprint("id ", id, " is not of ", rule))
				}
			}
		})
	}
	wg.Wait()
	if n := len(r.List()); n != 1005 {
		t.Errorf("%d rules", n)
	}
}
