package testprogs

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// typedPrograms tell the types of their blocks themselves. least is how many in a hundred are known: hdb may know
// fewer, but may be wrong about none.
var typedPrograms = []struct {
	name  string
	flags []string
	least int
	long  bool // not in the short form
}{
	{name: "blocktypes", flags: []string{"-O0"}, least: 90},
	{name: "blocktypes", flags: []string{"-O2"}, least: 75},
	{name: "blocktypes", flags: []string{"-O3", "-gdwarf-4"}, least: 75, long: true},
	{name: "blocktypes", flags: []string{"-Os"}, least: 70, long: true},
	{name: "blocktypes", flags: []string{"-O1"}, least: 75, long: true},
	{name: "blocktypes", flags: []string{"CC=clang", "-O0"}, least: 90, long: true},
	{name: "blocktypes", flags: []string{"CC=clang", "-O2"}, least: 75},
	{name: "blocktypes_plus", flags: []string{"-O0"}, least: 90},
	{name: "blocktypes_plus", flags: []string{"-O2"}, least: 85},
	{name: "blocktypes_plus", flags: []string{"-O3", "-gdwarf-4"}, least: 75, long: true},
	{name: "blocktypes_plus", flags: []string{"-O1"}, least: 75, long: true},
	{name: "blocktypes_plus", flags: []string{"-Os"}, least: 70, long: true},
	{name: "blocktypes_plus", flags: []string{"CC=clang++", "-O0"}, least: 90, long: true},
	{name: "blocktypes_plus", flags: []string{"CC=clang++", "-O2"}, least: 80, long: true},
	{name: "blocktypes_rust", least: 70},
	{name: "blocktypes_rust", flags: []string{"-O"}, least: 85, long: true},
}

// TestBlockTypes has hdb tell the types of the blocks of programs which tell them, too.
func TestBlockTypes(t *testing.T) {
	for _, p := range typedPrograms {
		if p.long && testing.Short() {
			continue
		}
		t.Run(strings.Join(append([]string{p.name}, p.flags...), " "), func(t *testing.T) {
			t.Parallel()
			told, known := typesOf(t, Build(t, p.name, p.flags...))
			right, all := 0, 0
			for at, want := range told {
				got, ok := known[at]
				switch {
				case want == "?":
					continue
				case ok && sameTypeName(got.Type) != sameTypeName(want) && got.How != "guess":
					t.Errorf("the block at %s is %s (%s), want %s", at, got.Type, got.How, want)
				case ok && sameTypeName(got.Type) == sameTypeName(want):
					right++
				default:
					t.Logf("not known: %s, %+v", want, got)
				}
				all++
			}
			t.Logf("%d of %d", right, all)
			if all < 10 || 100*right < p.least*all {
				t.Errorf("the types of %d of %d blocks are known, at least %d in a hundred should be", right, all, p.least)
			}
		})
	}
}

type typedBlock struct {
	Block string
	Type  string
	How   string `json:"type_known"`
}

// typesOf are the types of blocks that a program tells, and those that hdb knows.
func typesOf(t *testing.T, program string) (told map[string]string, known map[string]typedBlock) {
	t.Helper()
	out, err := exec.Command(HDB(t), "--json", "-batch", "-nx", "-ex", "record start", "-ex", "break blocks_told", "-ex", "run", "-ex", "find -type /10000 *", program).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	told, known = map[string]string{}, map[string]typedBlock{}
	for line := range strings.Lines(string(out)) {
		if text, ok := strings.CutPrefix(line, "= "); ok {
			i := strings.LastIndexByte(text, ' ')
			told[strings.TrimSpace(text[i:])] = text[:i]
			continue
		}
		var list struct{ Found []typedBlock }
		if json.Unmarshal([]byte(line), &list) == nil {
			for _, b := range list.Found {
				known[b.Block] = b
			}
		}
	}
	if len(known) == 0 {
		t.Fatalf("no types in %s", out)
	}
	return told, known
}

var (
	lengths  = regexp.MustCompile(`(\[)\d+(\]$)|; \d+(\]$)`)
	trailing = regexp.MustCompile(` ?\+ \d+ bytes?$`)
)

// sameTypeName is the name of a type without what compilers write differently, and without numbers of elements.
func sameTypeName(s string) string {
	s = trailing.ReplaceAllString(s, "+")
	s = lengths.ReplaceAllString(s, "$1$2$3")
	for _, word := range []string{"struct ", "union ", "const", " "} {
		s = strings.ReplaceAll(s, word, "")
	}
	return s
}
