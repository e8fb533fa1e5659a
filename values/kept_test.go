package values_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestKeptInRegisters looks at the parameters of functions two calls out. Where gcc has
// kept them in registers over these calls they are known, and otherwise right or said to
// be optimized out, also where debug information claims a register for them that was
// overwritten (-fno-var-tracking).
func TestKeptInRegisters(t *testing.T) {
	builds := []struct {
		compiler []string
		known    string // in keeps
	}{
		{[]string{"gcc", "-O2"}, "a b d f"},
		{[]string{"gcc", "-O2", "-fno-var-tracking"}, ""},
		{[]string{"gcc", "-O2", "-gdwarf-4"}, "a b d f"},
		{[]string{"gcc", "-O2", "-gsplit-dwarf"}, "a b d f"},
		{[]string{"gcc", "-O2", "-flto"}, "a b d f"},
		{[]string{"gcc", "-O2", "-fno-ipa-ra"}, "a b"},
		{[]string{"gcc", "-O1"}, "a b"},
		{[]string{"clang", "-O2"}, ""},
		{[]string{"clang", "-O1", "-gdwarf-4"}, ""},
	}
	if testing.Short() {
		builds = builds[:2]
	}
	right := map[string]string{"a": "7", "b": "6", "d": "2.5", "f": "1.5"}
	for _, b := range builds {
		dir := t.TempDir()
		source, err := filepath.Abs(filepath.Join("testdata", "kept.c"))
		if err != nil {
			t.Fatal(err)
		}
		build := exec.Command(b.compiler[0], append(b.compiler[1:], "-g", source, "-o", "kept")...)
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", build.Args, err, out)
		}
		args := []string{"-nx", "-batch", "-ex", "break leaf", "-ex", "run"}
		for _, command := range []string{"frame 1", "info args", "frame 2", "info args", "continue", "frame 1", "info args", "frame 2", "info args"} {
			args = append(args, "-ex", command) // clang inlines between
		}
		out, err := exec.Command(testprogs.HDB(t), append(args, filepath.Join(dir, "kept"))...).Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", b.compiler, err, out)
		}
		frames := regexp.MustCompile(`(?m)^#[12]  (keeps|loses)\(.*\n`).Split(string(out), -1)
		if len(frames) != 3 {
			t.Fatalf("%v: not twice in keeps and loses:\n%s", b.compiler, out)
		}
		for i, frame := range frames[1:] {
			for name, want := range right {
				got := regexp.MustCompile(`(?m)^` + name + ` = (.*)$`).FindStringSubmatch(frame)
				switch {
				case got == nil:
					t.Errorf("%v: no %s in\n%s", b.compiler, name, frame)
				case got[1] == want, got[1] == "<optimized out>" && (i == 1 || !strings.Contains(b.known, name)):
				default:
					t.Errorf("%v: call %d: %s = %s, want %s", b.compiler, i+1, name, got[1], want)
				}
			}
		}
	}
}
