package console

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"hdb/console/desk"
	"hdb/console/shell"
)

// hostile tells text that a terminal would act upon, but for the characters of keep.
func hostile(s, keep string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune(keep, r) && (unicode.Is(unicode.C, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r))
	})
}

// FuzzHostileJSON has names of programs in JSON.
func FuzzHostileJSON(f *testing.F) {
	for _, s := range []string{"main", "\x1b[2J", "\u202etxt.exe", "\x9b31m", "\xc2\x9b31m", "a\nerror: fake", "\xff\xfe", "\u2028", "\U000e0001", "%s%n", "\t", "漢"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		line := shell.JSONLine("bt", desk.FrameView{Function: name})
		if hostile(line, "\n") || strings.Count(line, "\n") != 1 {
			t.Errorf("JSON of %q: %q", name, line)
		}
		var back struct{ Function string }
		if err := json.Unmarshal([]byte(line), &back); err != nil {
			t.Errorf("JSON of %q: %v", name, err)
		} else if utf8.ValidString(name) && back.Function != name {
			t.Errorf("JSON of %q decodes to %q", name, back.Function)
		}
	})
}

// TestJSONAddresses holds every object of --json to addresses that are strings: JSON's
// readers take numbers for floating-point ones.
func TestJSONAddresses(t *testing.T) {
	field := regexp.MustCompile("(?m)^\\s+\\w+\\s+(\\S+)\\s+`json:\"(address|block|pc|low|high|bias|entry|rax|old)[,\"]")
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, groups...)
	found := 0
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range field.FindAllStringSubmatch(string(src), -1) {
			if found++; m[1] != "string" {
				t.Errorf("%s: field %s is of type %s", name, m[2], m[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("%d fields were found", found)
	}
}
