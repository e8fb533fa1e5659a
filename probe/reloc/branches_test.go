package reloc

import (
	"strings"
	"testing"

	"hdb/internal/addr"
)

// gap is n bytes of nops.
func gap(n int) string { return strings.Repeat(" 90", n) + " " }

func TestBranchesInto(t *testing.T) {
	const entry = "53 48 89 fb 48 83 ec 10" // boundaries at 1, 4 and 8
	for _, tc := range []struct {
		name, body string
		covered    int
		reason     string
	}{
		{"none", entry + gap(40) + "c3", 8, ""},
		{"short jump back to +4", entry + "eb fa", 8, "code at 0x7ffff7e00008 may branch to +4"},
		{"short jump back to +4, left in place", entry + "eb fa", 4, ""},
		{"short jump back to the entry", entry + "eb f6", 8, ""},
		{"short jump back to what is left", entry + "eb fe", 8, ""},
		{"condition", entry + "75 fa", 8, "+4"},
		{"loop", entry + "e2 fa", 8, "+4"},
		{"rcx", entry + "67 e3 f9", 8, "+4"},
		{"jump to what is left", entry + gap(300) + "e9 cf fe ff ff", 8, ""},
		{"jump to +7", entry + gap(300) + "e9 ce fe ff ff", 8, "may branch to +7"},
		{"condition to +7", entry + gap(300) + "0f 85 cd fe ff ff", 8, "may branch to +7"},
		{"call of +7", entry + gap(300) + "e8 ce fe ff ff", 8, "may branch to +7"},
		{"address of +7", entry + gap(300) + "48 8d 05 cc fe ff ff", 8, "may branch to +7"},
		{"memory at +7", entry + "48 8b 05 f8 ff ff ff", 8, "may branch to +7"},
		{"transaction", entry + gap(300) + "c7 f8 cd fe ff ff", 8, "may branch to +7"},
		{"the farthest short jump", entry + gap(123) + "eb 82 c3", 8, "may branch to +7"},
		{"bytes that are none", entry + "48 b8 eb fa 00 00 00 00 00 00 c3", 8, ""},
		{"unknown, then what looks like one", entry + "06 48 b8 eb f7 00 00 00 00 00 00 c3", 8, "may branch to +4"},
		{"unknown, then a loop", entry + "06 e0 f9", 8, "may branch to +4"},
		{"unknown, then none", entry + "06" + gap(20) + "c3", 8, ""},
		{"16 bits", entry + "66 eb f9", 8, "may branch to +4"},
		{"ends within an instruction", entry + "48 b8", 8, ""},
		{"ends within a jump", entry + "eb", 8, ""},
		{"nothing", "", 8, ""},
	} {
		err := BranchesInto(unhex(t, tc.body), testFrom, tc.covered)
		if tc.reason == "" && err != nil || tc.reason != "" && (err == nil || !strings.Contains(err.Error(), tc.reason)) {
			t.Errorf("%s: got %v, want %q", tc.name, err, tc.reason)
		}
	}
}

func TestBranchesFromElsewhere(t *testing.T) {
	for _, tc := range []struct {
		name string
		at   addr.Run
		code string
		bad  bool
	}{
		{"far behind", testFrom + 0x10000, "e9 fe ff fe ff", true}, // to +3
		{"far behind, elsewhere", testFrom + 0x10000, "e9 fe ff ff ff", false},
		{"far before", testFrom - 0x10000, "0f 84 fd ff 00 00", true},
		{"far behind, within another instruction", testFrom + 0x10000, "48 e9 fd ff fe ff", true},
		{"address of a label, far behind", testFrom + 0x10000, "48 8d 05 fa ff fe ff", true}, // +1
		{"short, which is not looked for", testFrom - 16, "90 90 eb 0f c3", false},
		{"cut", testFrom + 0x10000, "e9 fe ff fe", false},
	} {
		err := BranchesFrom(unhex(t, tc.code), tc.at, testFrom, 5)
		if (err != nil) != tc.bad {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
