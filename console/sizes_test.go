package console

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// withUnit is a size with a unit.
	withUnit = regexp.MustCompile(`[0-9] ?[KMGTPE]i?B\b`)
	// withoutUnit is a size of five digits or more that has none: "12345 B", "12345 bytes", the
	// arguments of an allocator. Behind a size with a unit, in brackets, the exact bytes may stand.
	withoutUnit = regexp.MustCompile(`\b([0-9]{5,}|[0-9]{1,3}(,[0-9]{3})+) ?(B|bytes)\b|\b(malloc|calloc|realloc|operator new(\[\])?)\((0x[0-9a-f]+, )?[0-9]{5,}\)`)
)

// notSizes are texts that a unit may stand in although sizes are shown as bytes: what the user
// typed, what the program is made of, and the help.
var notSizes = []*regexp.Regexp{
	regexp.MustCompile(`alloc if size > 60MiB`),        // a condition
	regexp.MustCompile(`"(64\.8|3) MiB"`),              // strings of the program
	regexp.MustCompile(`MiB, or bytes|size >= [0-9]+`), // help
}

// TestSizesHaveUnits: by default every size of more than four digits has a unit, and with `set
// print sizes raw` none has, whatever prints it.
func TestSizesHaveUnits(t *testing.T) {
	check := func(v visit, text string, raw bool) {
		for line := range strings.Lines(text) {
			for _, not := range notSizes {
				line = not.ReplaceAllString(line, "")
			}
			wrong := withoutUnit
			if raw {
				wrong = withUnit
			}
			if m := wrong.FindString(line); m != "" {
				t.Errorf("raw %v, %s, `%s`: %q in %.300s", raw, v.tour, v.line, m, line)
			}
		}
	}
	units := 0
	for _, raw := range []bool{false, true} {
		first := "set print sizes units"
		if raw {
			first = "set print sizes raw"
		}
		for _, v := range takeTours(t, nil, first) {
			if strings.HasPrefix(v.line, "help") || strings.HasPrefix(v.line, "set ") { // of a process that the tour has
				continue
			}
			check(v, v.out+v.err, raw)
			if !raw && withUnit.MatchString(v.out) {
				units++
			}
		}
	}
	if units < 40 {
		t.Errorf("only %d commands print a size with a unit", units)
	}
}

// TestSizesInFiles: what is written for people to read has sizes as the console shows them.
func TestSizesInFiles(t *testing.T) {
	path, dir := saveLog(t, 20000), t.TempDir()
	for _, raw := range []bool{false, true} {
		st := newStage(t, nil)
		if err := st.Open(path); err != nil {
			t.Fatal(err)
		}
		if raw {
			st.Top("set print sizes raw")
		}
		for _, tc := range []struct{ line, file string }{
			{"timeline --output {}", "timeline.html"},
			{"export sarif --force {}", "leaks.sarif"},
			{"assert --no-leaks --junit {}", "junit.xml"},
			{"assert --max-peak 1 --sarif {}", "verdicts.sarif"},
			{"table --force {}", "table.html"},
			{"table --force {}", "table.txt"},
			{"flamegraph --force {}", "flame.html"},
		} {
			file := filepath.Join(dir, tc.file)
			_ = os.Remove(file)
			st.Top(strings.ReplaceAll(tc.line, "{}", file))
			text, err := os.ReadFile(file)
			if err != nil {
				t.Errorf("%s: %v\n%s", tc.line, err, &st.err)
				continue
			}
			body, script, page := strings.Cut(string(text), `<script type="application/json"`)
			switch data, _, _ := strings.Cut(script, "</script>"); {
			case page && strings.Contains(data, `"raw":true`) != raw:
				t.Errorf("%s: the data of the page do not tell its script whether sizes are raw (%v)", tc.file, raw)
			case page && tc.file != "timeline.html": // its script writes all sizes
			case withUnit.MatchString(body) == raw:
				t.Errorf("%s, sizes raw %v: %q", tc.file, raw, withUnit.FindString(body))
			}
		}
		st.Finish()
	}
}
