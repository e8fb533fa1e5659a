package unwind

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/unwind/dwop"
)

func TestRowsOfRareInstructions(t *testing.T) {
	program := build(t, &walkCase{source: "instructions.s", flags: "-shared -nostdlib"})
	want := readelfRows(t, program, ".eh_frame")
	if len(want) < 15 {
		t.Fatalf("readelf has only %d rows", len(want))
	}
	compareRows(t, newTable(t, openELF(t, program)), want)
}

// base is a base address that arithmetic may wrap around.
func base(a uint64) uint64 { return a }

func TestPointerEncodings(t *testing.T) {
	const at, text, got = 0x5000, 0x400000, 0x500000
	const low, size = 0x4010, 0x20
	for _, c := range []struct {
		name     string
		encoding byte
		start    func(field uint64) []byte // the initial location, encoded
		length   []byte
	}{
		{"absptr", peAbsptr, func(uint64) []byte { return asm(uint64(low)) }, asm(uint64(size))},
		{"udata2", peUdata2, func(uint64) []byte { return asm(uint16(low)) }, asm(uint16(size))},
		{"udata4", peUdata4, func(uint64) []byte { return asm(uint32(low)) }, asm(uint32(size))},
		{"sdata8", peSdata8, func(uint64) []byte { return asm(uint64(low)) }, asm(uint64(size))},
		{"uleb128", peUleb128, func(uint64) []byte { return asm(0x90, 0x80, 0x01) }, asm(size)},
		{"sleb128", peSleb128, func(uint64) []byte { return asm(0x90, 0x80, 0x01) }, asm(size)},
		{"pcrel sdata2", pePcrel | peSdata2, func(f uint64) []byte { return asm(uint16(low - f)) }, asm(uint16(size))},
		{"pcrel sdata4", pePcrel | peSdata4, func(f uint64) []byte { return asm(uint32(low - f)) }, asm(uint32(size))},
		{"pcrel absptr", pePcrel, func(f uint64) []byte { return asm(uint64(low - f)) }, asm(uint64(size))},
		{"textrel sdata4", peTextrel | peSdata4, func(uint64) []byte { return asm(uint32(low - base(text))) }, asm(uint32(size))},
		{"datarel sdata8", peDatarel | peSdata8, func(uint64) []byte { return asm(low - base(got)) }, asm(uint64(size))},
		{"aligned", peAligned, func(f uint64) []byte { return asm(make([]byte, -f&7), uint64(low)) }, asm(uint64(size))},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := cieSpec{augmentation: "zR", data: []byte{c.encoding}}
			field := uint64(at + 8 + len(spec.body()) + 8)
			s := ehFrame(t, at, spec, asm(c.start(field), c.length, 0))
			s.TextAddr, s.GotAddr = text, got
			checkCovers(t, newTable(t, s), low, size)
		})
	}
}

// checkCovers wants a row exactly at [low, low+size).
func checkCovers(t *testing.T, table *Table, low, size addr.File) {
	t.Helper()
	for at, want := range map[addr.File]bool{low - 1: false, low: true, low + size - 1: true, low + size: false} {
		if _, ok := table.RowAt(at); ok != want {
			t.Errorf("row at %v: %v, expected %v (damage: %v)", at, ok, want, table.Damage())
		}
	}
}

func TestAugmentations(t *testing.T) {
	plain := asm(uint64(0x4000), uint64(0x10))
	withData := asm(plain, 0)
	for _, c := range []struct {
		augmentation string
		data         []byte
		fde          []byte
		signal       bool
		damage       string
	}{
		{augmentation: "", fde: plain},
		{augmentation: "z", fde: withData},
		{augmentation: "zR", data: asm(peUdata8), fde: withData},
		{augmentation: "zPLR", data: asm(peIndirect|pePcrel|peSdata4, uint32(9), peSdata4, peUdata8), fde: asm(plain, 4, uint32(0))},
		{augmentation: "zRS", data: asm(peAbsptr), fde: withData, signal: true},
		{augmentation: "zRB", data: asm(peAbsptr), fde: withData},
		{augmentation: "zQ", data: asm(1, 2, 3), fde: withData},
		{augmentation: "q", fde: plain, damage: `unknown augmentation "q"`},
		{augmentation: "zR", data: asm(peIndirect | peUdata8), fde: withData, damage: "indirect"},
		{augmentation: "zR", data: asm(0x0d), fde: withData, damage: "unknown pointer encoding 0xd"},
		{augmentation: "zR", data: asm(), fde: withData, damage: "data ends early"},
	} {
		for _, wide := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %x wide %v", c.augmentation, c.data, wide), func(t *testing.T) {
				table := newTable(t, ehFrame(t, 0, cieSpec{augmentation: c.augmentation, data: c.data, wide: wide}, c.fde))
				row, ok := table.RowAt(0x4008)
				err := table.Damage()
				if c.damage != "" {
					if ok || err == nil || !strings.Contains(err.Error(), c.damage) {
						t.Errorf("row %v, damage %v; expected %q", ok, err, c.damage)
					}
					return
				}
				if !ok || err != nil || row.Signal != c.signal {
					t.Errorf("row %v, signal %v, damage %v", ok, row.Signal, err)
				}
			})
		}
	}
}

func TestDebugFrameVersions(t *testing.T) {
	for _, version := range []int{1, 3, 4} {
		for _, wide := range []bool{false, true} {
			s := debugFrame(t, cieSpec{version: version, wide: wide}, fdeSpec{0x1000, 0x10, nil}, fdeSpec{0x2000, 0x10, nil})
			table := newTable(t, s)
			checkCovers(t, table, 0x1000, 0x10)
			checkCovers(t, table, 0x2000, 0x10)
			if err := table.Damage(); err != nil {
				t.Errorf("version %d wide %v: %v", version, wide, err)
			}
		}
	}
	table := newTable(t, debugFrame(t, cieSpec{version: 2}, fdeSpec{0x1000, 0x10, nil}))
	if _, ok := table.RowAt(0x1000); ok || table.Damage() == nil {
		t.Error("version 2 was read")
	}
}

// TestDamagedPrograms has rows up to the damage and none behind it.
func TestDamagedPrograms(t *testing.T) {
	good := asm(cfaAdvanceLoc|4, cfaDefCFAOffset, 16, cfaAdvanceLoc|4)
	for name, bad := range map[string][]byte{
		"unknown instruction":       asm(0x3b, 0),
		"expression past the end":   asm(cfaDefCFAExpression, 100, dwop.Lit0),
		"restore without remember":  asm(cfaRestoreState),
		"remembered without end":    slices.Repeat(asm(cfaRememberState), maxRemembered+1),
		"CFA in a vector register":  asm(cfaDefCFA, 17, 8),
		"location goes back":        asm(cfaSetLoc, uint64(0x1000)),
		"operand cut off":           asm(cfaAdvanceLoc4, 1, 2),
		"LEB128 number without end": asm(cfaDefCFAOffset, 0x80, 0x80),
	} {
		t.Run(name, func(t *testing.T) {
			table := newTable(t, debugFrame(t, cieSpec{}, fdeSpec{0x1000, 0x10, asm(good, bad)}, fdeSpec{0x2000, 0x10, nil}))
			if row, ok := table.RowAt(0x1005); !ok || row.CFA.Offset != 16 {
				t.Errorf("row before the damage: %v, %+v", ok, row.CFA)
			}
			if _, ok := table.RowAt(0x100a); ok {
				t.Error("there is a row behind the damage")
			}
			if _, ok := table.RowAt(0x2000); !ok {
				t.Error("the next function lost its row")
			}
			if table.Damage() == nil {
				t.Error("no damage reported")
			}
		})
	}
}

// TestUnsoundSearchTable damages .eh_frame_hdr; the rows must be found all the same.
func TestUnsoundSearchTable(t *testing.T) {
	program := build(t, &walkCase{source: "alloca.c", flags: "-O2"})
	sound := openELF(t, program)
	want := readelfRows(t, program, ".eh_frame")
	for name, damage := range map[string]func(hdr []byte) []byte{
		"version":           func(h []byte) []byte { h[0] = 2; return h },
		"table encoding":    func(h []byte) []byte { h[3] = peDatarel | peUdata2; return h },
		"no table":          func(h []byte) []byte { h[2] = peOmit; return h },
		"points elsewhere":  func(h []byte) []byte { h[4]++; return h },
		"count too large":   func(h []byte) []byte { h[11] = 0x7f; return h },
		"cut off":           func(h []byte) []byte { return h[:len(h)-1] },
		"not sorted":        func(h []byte) []byte { copy(h[12:], []byte{0xff, 0xff, 0xff, 0x7f}); return h },
		"outside .eh_frame": func(h []byte) []byte { h[19] = 0x40; return h },
		"empty":             func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := sound
			s.EhFrameHdr = damage(slices.Clone(s.EhFrameHdr))
			table := newTable(t, s)
			compareRows(t, table, want)
			if table.eh.search != nil {
				t.Error("the search table was used")
			}
		})
	}
}

func TestOverlappingFunctions(t *testing.T) {
	table := newTable(t, debugFrame(t, cieSpec{},
		fdeSpec{0x1000, 0x100, asm(cfaDefCFAOffset, 16)},
		fdeSpec{0x1020, 0x10, asm(cfaDefCFAOffset, 24)},
		fdeSpec{0, 0x10000, asm(cfaDefCFAOffset, 32)})) // dropped by the linker
	for at, offset := range map[addr.File]int64{0x1000: 16, 0x1020: 24, 0x102f: 24, 0x1030: 16, 0x10ff: 16} {
		if row, ok := table.RowAt(at); !ok || row.CFA.Offset != offset {
			t.Errorf("row at %v: %v, CFA %s, expected offset %d", at, ok, cfaCell(row.CFA), offset)
		}
	}
	if _, ok := table.RowAt(0x1100); ok {
		t.Error("a dropped function has a row")
	}
}

func TestSectionsThatWrap(t *testing.T) {
	_, err := NewTable(Sections{EhFrame: make([]byte, 16), EhFrameAddr: ^addr.File(7)})
	if err == nil || !strings.Contains(err.Error(), ".eh_frame: 16 bytes at 0xfffffffffffffff8 wrap around") {
		t.Errorf("error %v", err)
	}
}

// TestGoDebugFrame reads the .debug_frame of Go's linker, which has no .eh_frame. A
// goroutine's stack ends with return address 0, which is a frame for gdb.
func TestGoDebugFrame(t *testing.T) {
	needTool(t, "go", "golang-go")
	dir := t.TempDir()
	source, err := filepath.Abs("testdata/hello.go")
	if err != nil {
		t.Fatal(err)
	}
	run(t, dir, "go", "build", "-o", "prog", source)
	path := filepath.Join(dir, "prog")
	table := newTable(t, openELF(t, path))
	compareRows(t, table, readelfRows(t, path, ".debug_frame"))
	if err := table.Damage(); err != nil {
		t.Error(err)
	}
	snap := takeSnapshot(t, path, "break main.main", "run", "snap")
	stop := &snap.Stops[0]
	got := NewWalker(snap).Walk(snap.memory(t, stop), stop.regs(), 0)
	if diff := diffStack(&got, stop, &walkCase{outermost: true}); diff != "" || len(got.Frames) != 3 {
		t.Errorf("%s\n%s", diff, describe(&got, stop))
	}
}
