package values_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// macroQuestions are asked at the same line of the same program, whatever wrote its macros.
var macroQuestions = strings.Split("info macro LIMIT|info macro SQUARE|info macro MINE|info macro HEADER_ONLY|info macro OFFSET|info macro FIRST|p LIMIT|p MINE + 1|p BOTH(n, 3)|p NAME(one)|p &NAME(one)|p TEXT(a + b)|p FIRST(1, 2, 3)|p SQUARE(SQUARE(n))|p -LIMIT|p n == LIMIT || n < OFFSET|p sizeof(TEXT(abc))|whatis LIMIT|p NAME(one) = LIMIT|p LATER|p GONE|p SQUARE", "|")

// TestMacrosAgainstGDB asks about macros of .debug_macro in both versions, and of
// .debug_macinfo.
func TestMacrosAgainstGDB(t *testing.T) {
	source, err := filepath.Abs("../testprogs/testdata/macros.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, flags := range []string{"gcc -g3 -gdwarf-5", "gcc -g3 -gdwarf-4", "gcc -g3 -gdwarf-4 -gstrict-dwarf", "clang -g -fdebug-macro"} {
		t.Run(flags, func(t *testing.T) {
			prog := filepath.Join(t.TempDir(), "macros")
			args := append(strings.Fields(flags), source, "-o", prog)
			if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
			c := oracleCase{stop: "macros.c:23", ask: macroQuestions}
			want := answers(t, []string{"gdb", "-nx", "-batch", "-iex", "set auto-load safe-path /", "-iex", "set style enabled off"}, prog, c)
			got := answers(t, []string{testprogs.HDB(t), "-nx", "-batch"}, prog, c)
			for _, q := range c.ask {
				w, g := historyNumber.ReplaceAllString(want[q], ""), historyNumber.ReplaceAllString(got[q], "")
				if w != g {
					t.Errorf("%s:\ngdb %s\nhdb %s", q, w, g)
				}
			}
			if !strings.Contains(got["info macro OFFSET"], "included at") {
				t.Errorf("info macro OFFSET: %s", got["info macro OFFSET"])
			}
		})
	}
}
