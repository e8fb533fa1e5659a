package cfi

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/unwind"
)

// The two encodings of signal trampolines (sigreturn(2)).
var (
	trampoline      = []byte{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}
	shortTrampoline = []byte{0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05}
)

// text makes code from 0x1000 to 0x1100 with pieces in it, the rest no-ops.
func text(pieces ...piece) []byte {
	b := bytes.Repeat([]byte{0x90}, 0x100)
	for _, p := range pieces {
		copy(b[p.at-0x1000:], p.data)
	}
	return b
}

// listing writes a table's rows, one after the other, without the NoCFI at the end.
func listing(t *Table, rules *Rules) string {
	var rows []string
	for i, off := range t.Offs {
		rows = append(rows, fmt.Sprintf("%x: %v", uint64(t.Low)+uint64(off), rules.List()[t.IDs[i]]))
	}
	return strings.TrimSuffix(strings.Join(rows, ", "), ", 1100: no CFI")
}

// checkShape checks what the walker relies on.
func checkShape(t testing.TB, table *Table) {
	t.Helper()
	if len(table.Offs) == 0 || len(table.Offs) != len(table.IDs) || table.Offs[0] != 0 {
		t.Fatalf("%d addresses, %d ids, %v", len(table.Offs), len(table.IDs), table.Offs[:min(1, len(table.Offs))])
	}
	for i := 1; i < len(table.Offs); i++ {
		if table.Offs[i] <= table.Offs[i-1] || table.IDs[i] == table.IDs[i-1] {
			t.Fatalf("row %d at %#x of id %d behind %#x of id %d", i, table.Offs[i], table.IDs[i], table.Offs[i-1], table.IDs[i-1])
		}
	}
}

func TestCompile(t *testing.T) {
	frame := func(offset int) []byte { return asm(cfaDefCFAOffset, offset) }
	grown := asm(cfaAdvanceLoc|4, cfaDefCFAOffset, 16, cfaAdvanceLoc|4, cfaDefCFAOffset, 24)
	for _, c := range []struct {
		name     string
		sections unwind.Sections
		code     []byte
		want     string
	}{
		{"nothing", unwind.Sections{}, nil, "1000: no CFI"},
		{"rows", ehFrame(fde{0x1010, 16, false, grown}), nil, "1000: no CFI, 1010: rsp+8, 1014: rsp+16, 1018: rsp+24, 1020: no CFI"},
		{"equal rows", ehFrame(fde{0x1000, 16, false, asm(cfaAdvanceLoc|4, cfaOffset|12, 2)}, fde{0x1010, 16, false, nil}), nil,
			"1000: rsp+8, 1020: no CFI"},
		{"rows of both sections", func() unwind.Sections {
			s := ehFrame(fde{0x1010, 16, false, frame(16)})
			s.DebugFrame = debugFrame(fde{0x1018, 0x20, false, frame(24)})
			return s
		}(), nil, "1000: no CFI, 1010: rsp+16, 1020: rsp+24, 1038: no CFI"},
		{"a row across the start", ehFrame(fde{0xff0, 0x20, false, grown}), nil, "1000: rsp+24, 1010: no CFI"},
		{"a row across the end", ehFrame(fde{0x10f0, 0x20, false, frame(16)}), nil, "1000: no CFI, 10f0: rsp+16"},
		{"rows outside", ehFrame(fde{0xf00, 0x100, false, frame(16)}, fde{0x1100, 0x100, false, frame(16)}), nil, "1000: no CFI"},

		{"entry code", unwind.Sections{Entry: 0x1010}, nil, "1000: no CFI, 1010: entry, 1050: no CFI"},
		{"entry code with CFI for a part", func() unwind.Sections {
			s := ehFrame(fde{0x1020, 16, false, frame(16)})
			s.Entry = 0x1010
			return s
		}(), nil, "1000: no CFI, 1010: entry, 1020: rsp+16, 1030: entry, 1050: no CFI"},
		{"entry code across the start", unwind.Sections{Entry: 0xfe0}, nil, "1000: entry, 1020: no CFI"},

		{"a trampoline of musl", unwind.Sections{}, text(piece{0x1021, trampoline}), "1000: no CFI, 1020: signal, 102a: no CFI"},
		{"the other encoding", unwind.Sections{}, text(piece{0x1021, shortTrampoline}), "1000: no CFI, 1020: signal, 1028: no CFI"},
		{"a trampoline at the start", unwind.Sections{}, text(piece{0x1000, trampoline}), "1000: signal, 1009: no CFI"},
		{"a trampoline across the end", unwind.Sections{}, text(piece{0x10f8, trampoline}), "1000: no CFI"},
		{"a trampoline at the end", unwind.Sections{}, text(piece{0x10f7, trampoline}), "1000: no CFI, 10f6: signal"},
		{"a trampoline behind a function", ehFrame(fde{0x1010, 16, false, frame(16)}), text(piece{0x1020, trampoline}),
			"1000: no CFI, 1010: rsp+16, 101f: signal, 1029: no CFI"},
		{"a trampoline behind a function of one byte", ehFrame(fde{0x101f, 1, false, frame(16)}), text(piece{0x1020, trampoline}),
			"1000: no CFI, 101f: signal, 1029: no CFI"},
		{"a trampoline that is a function for its CFI", ehFrame(fde{0x1010, 16, false, frame(16)}, fde{0x1020, 16, false, nil}),
			text(piece{0x1020, trampoline}), "1000: no CFI, 1010: rsp+16, 101f: signal, 1020: rsp+8, 1030: no CFI"},
		{"a trampoline inside of a function", ehFrame(fde{0x1010, 64, false, frame(16)}), text(piece{0x1020, trampoline}),
			"1000: no CFI, 1010: rsp+16, 1050: no CFI"},
		{"a trampoline in entry code", unwind.Sections{Entry: 0x1010}, text(piece{0x1048, trampoline}), "1000: no CFI, 1010: entry, 1050: signal, 1051: no CFI"},
		{"two trampolines", unwind.Sections{}, text(piece{0x1020, trampoline}, piece{0x1040, trampoline}),
			"1000: no CFI, 101f: signal, 1029: no CFI, 103f: signal, 1049: no CFI"},
		{"trampolines side by side", unwind.Sections{}, text(piece{0x1020, trampoline}, piece{0x1029, trampoline}), "1000: no CFI, 101f: signal, 1032: no CFI"},

		{"libc's trampoline", ehFrame(fde{0x101f, 10, true, kernelFrame()}), text(piece{0x1020, trampoline}),
			"1000: no CFI, 101e: signal, 1029: no CFI"},
		{"a trampoline whose CFI begins with it", ehFrame(fde{0x1020, 9, true, kernelFrame()}), text(piece{0x1020, trampoline}),
			"1000: no CFI, 101f: signal, 1029: no CFI"},
		{"the same behind a function", ehFrame(fde{0x1010, 16, false, frame(16)}, fde{0x1020, 9, true, kernelFrame()}), nil,
			"1000: no CFI, 1010: rsp+16, 101f: signal, 1029: no CFI"},
		{"the same behind a function of one byte", ehFrame(fde{0x1010, 15, false, frame(16)}, fde{0x101f, 1, false, nil}, fde{0x1020, 9, true, kernelFrame()}), nil,
			"1000: no CFI, 1010: rsp+16, 101f: signal, 1029: no CFI"},
		{"a frame that was not called", ehFrame(fde{0x1020, 16, true, frame(32)}), nil, "1000: no CFI, 101f: unsupported, 1030: no CFI"},

		{"a PLT without CFI", unwind.Sections{PLT: []unwind.Range{{Low: 0x1000, High: 0x1030}}}, text(piece{0x1000, lazyPLT}),
			"1000: rsp+16, 1006: rsp+24, 1010: rsp+8, 101b: rsp+16, 1020: rsp+8, 102b: rsp+16, 1030: no CFI"},
		{"a PLT without CFI for the entries", func() unwind.Sections {
			s := ehFrame(fde{0x1000, 16, false, frame(16)})
			s.PLT = []unwind.Range{{Low: 0x1000, High: 0x1030}}
			return s
		}(), text(piece{0x1000, lazyPLT}), "1000: rsp+16, 1010: rsp+8, 101b: rsp+16, 1020: rsp+8, 102b: rsp+16, 1030: no CFI"},
		{"a PLT whose code is not known", unwind.Sections{PLT: []unwind.Range{{Low: 0x1000, High: 0x1030}}}, nil, "1000: no CFI"},
		{"a PLT with CFI", ehFrame(fde{0x1010, 32, false, pltCFA(11)}), text(piece{0x1000, lazyPLT}), "1000: no CFI, 1010: plt+11, 1030: no CFI"},
		{"a PLT and other gaps", unwind.Sections{Entry: 0x1014, PLT: []unwind.Range{{Low: 0x1010, High: 0x1020}, {Low: 0x10f0, High: 0x1120}}},
			text(piece{0x1000, lazyPLT}, piece{0x10f0, lazyPLT}),
			"1000: no CFI, 1010: rsp+8, 1014: entry, 1054: no CFI, 10f0: rsp+16, 10f6: rsp+24"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.sections.Text = []unwind.Range{{Low: 0x1000, High: 0x1100}}
			cfi, rules := newCFI(t, c.sections), NewRules()
			var table *Table
			var err error
			code := pieces{{0x1000, c.code}}
			if c.code == nil {
				table, err = Compile(cfi, 0x1000, 0x1100, nil, rules)
			} else {
				table, err = Compile(cfi, 0x1000, 0x1100, code, rules)
			}
			if err != nil {
				t.Fatal(err)
			}
			checkShape(t, table)
			if got := listing(table, rules); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
			agreeEverywhere(t, newWorld(t, cfi, table, 0x1100, code, rules), c.code)
		})
	}
}

// lazyPLT is the first entry and two others (System V ABI, figure 5.2).
var lazyPLT = []byte{
	0xff, 0x35, 0x68, 0x2f, 0, 0, 0xff, 0x25, 0x6a, 0x2f, 0, 0, 0x0f, 0x1f, 0x40, 0,
	0xff, 0x25, 0x6a, 0x2f, 0, 0, 0x68, 0, 0, 0, 0, 0xe9, 0xe0, 0xff, 0xff, 0xff,
	0xff, 0x25, 0x6a, 0x2f, 0, 0, 0x68, 1, 0, 0, 0, 0xe9, 0xd0, 0xff, 0xff, 0xff,
}

// agreeEverywhere holds a table against unwind.Walker at each address of code: as a PC
// and as a return address, where either can be. A function's last byte that stands for
// the trampoline behind it is no PC; no call ends inside of a trampoline or a PLT.
func agreeEverywhere(t *testing.T, w *world, code []byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	inPLT := func(a addr.File) bool {
		return w.module != nil && slices.ContainsFunc(w.module.PLT(), func(p unwind.Range) bool { return p.Contains(a) })
	}
	rowAt := func(a addr.File) (unwind.Row, bool) {
		if w.module == nil {
			return unwind.Row{}, false
		}
		return w.module.RowAt(a)
	}
	for a := w.low; a < w.high; a++ {
		s := w.random(r, a)
		rest := code[min(int(a-w.low), len(code)):]
		row, covered := rowAt(a)
		begins := bytes.HasPrefix(rest, trampoline) || bytes.HasPrefix(rest, shortTrampoline)
		runs := begins || row.Signal || bytes.HasPrefix(rest, trampoline[7:])
		if isPC := !inPLT(a) && (w.compiled.At(a) != SignalID || runs); isPC {
			if diff := w.disagreement(s); diff != "" {
				t.Errorf("PC %v: %s", a, diff)
			}
		}
		if isReturn := a > w.low && !inPLT(a-1) && (w.compiled.At(a-1) != SignalID || covered || begins); isReturn {
			if diff := w.disagreementOfReturn(s); diff != "" {
				t.Errorf("return address %v: %s", a, diff)
			}
		}
	}
}

// TestCompileInstructionsOfPLT: the PCs that agreeEverywhere leaves out.
func TestCompileInstructionsOfPLT(t *testing.T) {
	cfi, rules := newCFI(t, unwind.Sections{PLT: []unwind.Range{{Low: 0x1000, High: 0x1030}}}), NewRules()
	code := pieces{{0x1000, text(piece{0x1000, lazyPLT}, piece{0x1041, trampoline})}}
	table, err := Compile(cfi, 0x1000, 0x1100, code, rules)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, cfi, table, 0x1100, code, rules)
	r := rand.New(rand.NewPCG(3, 4))
	for _, a := range []addr.File{0x1000, 0x1006, 0x1010, 0x1016, 0x101b, 0x1020, 0x1026, 0x102b, 0x1041, 0x1048} {
		if diff := w.disagreement(w.random(r, a)); diff != "" || table.At(a) == NoCFIID {
			t.Errorf("PC %v: %s", a, diff)
		}
	}
	if diff := w.disagreementOfReturn(w.random(r, 0x1041)); diff != "" {
		t.Errorf("return to the trampoline: %s", diff)
	}
}

func TestCompileWithoutCFI(t *testing.T) {
	rules := NewRules()
	code := text(piece{0x1020, trampoline})
	table, err := Compile(nil, 0x1000, 0x1100, pieces{{0x1000, code}}, rules)
	if err != nil || listing(table, rules) != "1000: no CFI, 101f: signal, 1029: no CFI" {
		t.Errorf("%v, %s", err, listing(table, rules))
	}
	agreeEverywhere(t, newWorld(t, nil, table, 0x1100, pieces{{0x1000, code}}, rules), code)
}

func TestCompileRanges(t *testing.T) {
	cfi := newCFI(t, ehFrame(fde{0x1010, 16, false, nil}))
	for _, c := range []struct{ low, high addr.File }{{0x1000, 0x1000}, {0x1000, 0xfff}, {0, 1<<32 + 1}} {
		if _, err := Compile(cfi, c.low, c.high, nil, NewRules()); err == nil {
			t.Errorf("no error for %v to %v", c.low, c.high)
		} else if !strings.HasPrefix(err.Error(), "compile CFI: ") {
			t.Error(err)
		}
	}
	rules := NewRules()
	whole, err := Compile(cfi, 0, 1<<32, nil, rules)
	if err != nil {
		t.Fatal(err)
	}
	checkShape(t, whole)
	for a, want := range map[addr.File]uint16{0: NoCFIID, 0x100f: NoCFIID, 0x1010: 5, 0x101f: 5, 0x1020: NoCFIID, 1<<32 - 1: NoCFIID,
		1 << 32: NoCFIID, 1 << 40: NoCFIID} {
		if got := whole.At(a); got != want {
			t.Errorf("At(%v) is %d, want %d", a, got, want)
		}
	}
	full, err := Compile(newCFI(t, ehFrame(fde{0x5000, 1 << 33, false, nil})), 0x6000, 0x6000+1<<32, nil, rules)
	if err != nil || len(full.Offs) != 1 || full.At(0x6000+1<<32-1) != 5 || full.At(0x6000+1<<32) != NoCFIID || full.At(0x5fff) != NoCFIID {
		t.Errorf("%v, %d rows", err, len(full.Offs))
	}
}

// TestCompileDamage: an FDE that cannot be read costs its own code.
func TestCompileDamage(t *testing.T) {
	s := ehFrame(fde{0x1010, 16, false, asm(cfaAdvanceLoc|4, 0x3f)}, fde{0x1020, 16, false, nil})
	rules := NewRules()
	table, err := Compile(newCFI(t, s), 0x1000, 0x1100, nil, rules)
	if err != nil || listing(table, rules) != "1000: no CFI, 1010: rsp+8, 1014: no CFI, 1020: rsp+8, 1030: no CFI" {
		t.Errorf("%v, %s", err, listing(table, rules))
	}
}

// TestCompileTrampolinesInText: they are looked for in code alone, across the pieces it
// is read in, and no more of them than a module can have.
func TestCompileTrampolinesInText(t *testing.T) {
	const size = 600 << 10
	for _, at := range []addr.File{256<<10 - 20, 256<<10 - 16, 256<<10 - 9, 256<<10 - 8, 256<<10 - 1, 256 << 10, 512<<10 - 24, size - 9} {
		code := make([]byte, size)
		copy(code[at:], trampoline)
		rules := NewRules()
		table, err := Compile(nil, 0, size, pieces{{0, code}}, rules)
		if err != nil || table.At(at-1) != SignalID || table.At(at+8) != SignalID || len(table.Offs) > 3 {
			t.Errorf("%v: trampoline at %v not found: %s", err, at, listing(table, rules))
		}
	}
	code := bytes.Repeat(trampoline, size/len(trampoline))
	table, err := Compile(nil, 0, size, pieces{{0, code}}, NewRules())
	if err != nil || len(table.Offs) > 3 || table.At(0) != SignalID || table.At(size/2) != NoCFIID {
		t.Errorf("%v, %d rows", err, len(table.Offs))
	}
	s := unwind.Sections{Text: []unwind.Range{{Low: 0x1000, High: 0x1040}, {Low: 0x1020, High: 0x1060}, {Low: 0x1080, High: 0x1100}}}
	rules := NewRules()
	table, err = Compile(newCFI(t, s), 0x1000, 0x1100, pieces{{0x1000, text(piece{0x1030, trampoline}, piece{0x1064, trampoline}, piece{0x10a0, trampoline})}}, rules)
	if want := "1000: no CFI, 102f: signal, 1039: no CFI, 109f: signal, 10a9: no CFI"; err != nil || listing(table, rules) != want {
		t.Errorf("%v, %s", err, listing(table, rules))
	}
}

func TestPaint(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		var want [64]uint16
		table := &Table{Low: 0x1000}
		for i := range want {
			if want[i] = uint16(r.IntN(3)); r.IntN(2) > 0 && i > 0 {
				want[i] = want[i-1]
			}
			table.add(0x1000+addr.File(i), want[i])
		}
		for range 5 {
			low := r.IntN(len(want))
			high := low + 1 + r.IntN(len(want)-low)
			id := uint16(r.IntN(3))
			for i := low; i < high; i++ {
				want[i] = id
			}
			table.paint(0x1000+addr.File(low), 0x1000+addr.File(high), id)
			checkShape(t, table)
			for i := range want {
				if got := table.At(0x1000 + addr.File(i)); got != want[i] {
					t.Fatalf("after painting %d to %d: id %d at %d, want %d", low, high, got, i, want[i])
				}
			}
		}
	}
}
