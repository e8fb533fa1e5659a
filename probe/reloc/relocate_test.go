package reloc

import (
	"encoding/hex"
	"strings"
	"testing"

	"hdb/internal/addr"
)

// unhex reads bytes as a table has them: "48 89 f8 c3".
func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	testFrom addr.Run = 0x7ffff7e00000
	testTo   addr.Run = 0x7ffff7000000

	nops16 = " 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90 90"
)

// padded is a function of n bytes with padding up to 16.
func padded(code string, n int) string { return code + nops16[:3*(16-n)] }

func TestRefusals(t *testing.T) {
	for _, tc := range []struct {
		name, code string
		size       int
		from       addr.Run
		reason     string
	}{
		{name: "nothing", code: "", reason: "instruction at +0: bytes end"},
		{name: "cut", code: "48 8b 05 00 00", reason: "instruction at +0: unknown instruction 48 8b"},
		{name: "int3", code: "55 cc 48 89 e5 90", reason: "int3, a breakpoint of someone else"},
		{name: "int3 at the entry", code: "cc 48 89 e5 90 90", reason: "instruction at +0: int3"},
		{name: "icebp", code: "f1 90 90 90 90", reason: "f1 depends on where it lies"},
		{name: "no instruction of 64 bits", code: "06 90 90 90 90", reason: "unknown instruction 06"},
		{name: "lone prefix", code: "f3 f3 f3 f3 f3 f3 f3 f3 f3 f3 f3 f3 f3 f3 f3 f3", reason: "bytes end"},
		{name: "rex before a prefix", code: "48 66 b8 00 00 90 90 90 90 90 90 90 90 90 90", reason: "unknown instruction"},
		{name: "lock before mov", code: "f0 48 89 f8 90 90", reason: "unknown instruction f0"},
		{name: "call and jump of 16 bits", code: "66 e8 00 00 00 00 c3", reason: "prefix that processors disagree about"},
		{name: "return of 16 bits", code: "66 c3 90 90 90 90 90", reason: "prefix that processors disagree about"},
		{name: "eip-relative", code: "67 48 8b 05 00 00 00 00", reason: "depends on where it lies"},
		{name: "eip-relative vex", code: "67 c5 fa 6f 05 00 00 00 00", reason: "depends on where it lies"},
		{name: "vex behind a repeat", code: "f3 c5 f8 77 90 90", reason: "unknown instruction f3 c5"},
		{name: "vex behind rex", code: "48 c5 f8 77 90 90", reason: "unknown instruction 48 c5"},
		{name: "vex of an unknown map", code: "c4 e7 78 10 00 90", reason: "unknown instruction c4 e7"},
		{name: "evex with registers of APX", code: "62 fc 7c 08 10 00 90", reason: "unknown instruction 62 fc"},
		{name: "rex2", code: "d5 18 50 90 90 90", reason: "unknown instruction d5"},
		{name: "xop", code: "8f e9 78 81 c0 90", reason: "unknown instruction 8f"},
		{name: "transaction", code: "c7 f8 10 00 00 00", reason: "depends on where it lies"},
		{name: "far call", code: "ff 1d 10 00 00 00", reason: "depends on where it lies"},
		{name: "call of a register", code: "48 89 f8 ff d0 c3", reason: "ff d0 depends on where it lies"},
		{name: "call of memory", code: "53 ff 57 08 5b c3", reason: "ff 57 08 depends"},
		{name: "loop to the entry", code: "48 ff cf 75 fb c3", reason: "loop to the entry"},
		{name: "jump to the entry", code: "f3 90 eb fc 90 90", reason: "loop to the entry", size: 6},
		{name: "loop within", code: "53 48 ff cf 75 fb c3", reason: "75 fb refers to +1, which is replaced"},
		{name: "branch forward within", code: "74 01 53 48 89 f8 c3", reason: "74 01 refers to +3"},
		{name: "branch to the last byte", code: "74 03 55 48 89 e5 c3", reason: "74 03 refers to +5"},
		{name: "call within", code: "90 90 e8 fc ff ff ff c3", reason: "refers to +3"},
		{name: "loop instruction within", code: "90 90 90 e2 fc c3", reason: "refers to +1"},
		{name: "label within", code: "48 8d 05 fd ff ff ff c3", reason: "refers to +4"},
		{name: "beyond the size", code: "48 89 f8 48 89 f8", size: 3, reason: "instruction at +3: beyond the function's 3 bytes"},
		{name: "size within an instruction", code: "48 89 f8 48 89 f8", size: 5, reason: "instruction at +3: beyond the function's 5 bytes"},
		{name: "short, then code", code: "31 c0 c3 53 48 89 f8 c3", size: 3, reason: "leaves after 3 bytes, and what follows is not padding"},
		{name: "short, then code of its own", code: "31 c0 c3 b8 01 00 00 00 c3", size: 9, reason: "leaves after 3 bytes"},
		{name: "short, then another entry", code: "c3 f3 0f 1e fa 90 90 90 90 90 90 90 90 90 90 90", size: 1, reason: "leaves after 1 bytes"},
		{name: "short, the padding ends early", code: "c3 90 90 90 90 90 90 53 90 90 90 90 90 90 90 90", size: 1, reason: "leaves after 1 bytes"},
		{name: "short, the padding is not seen", code: "c3 90 90 90 90 90", size: 1, reason: "leaves after 1 bytes"},
		{name: "short, not aligned", code: padded("c3", 1), size: 1, from: testFrom + 8, reason: "not aligned"},
		{name: "short of unknown size, int3", code: "c3 cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc", reason: "leaves after 1 bytes"},
		{name: "short, int3 of its own", code: "eb 03 cc cc cc 53 48 89 f8 c3", size: 10, reason: "leaves after 2 bytes"},
		{name: "short, nops over the next multiple", code: "c3 90 90 90 90 90 90 90 90 90 90 90 90 90 90 66 90 66 90 53 c3", size: 1, reason: "leaves after 1 bytes"},
		{name: "short, pause is no padding", code: "c3 f3 90 f3 90 f3 90 90 90 90 90 90 90 90 90 90", size: 1, reason: "leaves after 1 bytes"},
		{name: "operand out of reach", code: "48 8b 05 ff ff ff 7f c3", reason: "0x800077e00006 is out of reach from 0x7ffff7000000"},
	} {
		from := testFrom
		if tc.from != 0 {
			from = tc.from
		}
		p, err := Relocate(unhex(t, tc.code), tc.size, from, testTo, 5)
		if err == nil || !strings.Contains(err.Error(), tc.reason) {
			t.Errorf("%s: got %v, % x, want %q", tc.name, err, p.Code, tc.reason)
		}
	}
}

func TestRefusalsOfNeed(t *testing.T) {
	code := unhex(t, "53 e8 00 01 00 00 5b c3")
	if _, err := Relocate(code, 8, testFrom, testTo, 0); err == nil {
		t.Error("0 bytes were replaced")
	}
	if _, err := Relocate(code, 8, testFrom, testTo, 7); err == nil || !strings.Contains(err.Error(), "call returns into") {
		t.Errorf("a call that returns to +6, 7 bytes replaced: %v", err)
	}
	if p, err := Relocate(code, 8, testFrom, testTo, 6); err != nil || p.Covered != 6 || !p.Calls {
		t.Errorf("a call that returns to +6, 6 bytes replaced: %+v %v", p, err)
	}
}

func TestRefusalsOfDistance(t *testing.T) {
	const far = testFrom + 2<<30
	for _, tc := range []struct {
		name, code string
		to         addr.Run
		reason     string
	}{
		{"jump back", "53 48 89 fb 50 c3", far + 100, "jump back: 0x7ffff7e00005 is out of reach"},
		{"jump", "e9 00 00 00 00", far + 100, "instruction at +0"},
		{"condition", "0f 84 00 00 00 00 c3", far + 100, "instruction at +0"},
		{"call", "e8 00 01 00 00 c3", far + 300, "instruction at +0"},
		{"loop", "e2 10 48 89 f8 c3", far + 100, "instruction at +0"},
		{"the farthest that is reached", "53 48 89 fb 50 c3", far - 5, ""},
		{"one more", "53 48 89 fb 50 c3", far - 4, "jump back"},
	} {
		// The jump back ends 10 bytes behind to, and goes to from+5.
		_, err := Relocate(unhex(t, tc.code), 0, testFrom, tc.to, 5)
		switch {
		case tc.reason == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.reason != "" && (err == nil || !strings.Contains(err.Error(), tc.reason)):
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.reason)
		}
	}
}

func TestShortFunctions(t *testing.T) {
	for _, tc := range []struct {
		name, code string
		size       int
		covered    int
		moved      string
	}{
		{"ret and nops", padded("c3", 1), 1, 5, "c3"},
		{"ret and nops, size unknown", padded("c3", 1), 0, 5, "c3"},
		{"ret and a long nop", "31 c0 c3 66 66 2e 0f 1f 84 00 00 00 00 00 66 90", 3, 14, "31 c0 c3"},
		{"ret and int3", "c3 cc cc cc cc cc cc cc cc cc cc cc cc cc cc cc", 1, 5, "c3"},
		{"ud2 and nops", padded("0f 0b", 2), 2, 5, "0f 0b"},
		{"exactly as long", "f3 0f 1e fa c3 53 53 53", 5, 5, "f3 0f 1e fa c3"},
		{"over own nops", "eb 03 90 90 90 53 48 89 f8 c3", 10, 5, "e9 00 00 e0 00"},
		{"padding up to 32", "c3 66 66 2e 0f 1f 84 00 00 00 00 00 66 66 2e 0f 1f 84 00 00 00 00 00 66 0f 1f 84 00 00 00 00 00", 1, 12, "c3"},
	} {
		p, err := Relocate(unhex(t, tc.code), tc.size, testFrom, testTo, 5)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if moved := hex.EncodeToString(p.Code); p.Covered != tc.covered || moved != strings.ReplaceAll(tc.moved, " ", "") {
			t.Errorf("%s: covers %d with %s, want %d with %s", tc.name, p.Covered, moved, tc.covered, tc.moved)
		}
	}
}
