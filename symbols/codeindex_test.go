package symbols

import (
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hdb/testprogs"
)

// TestArangesAgree: what .debug_aranges says of an address is what the units say, and it
// says nothing where clang made a unit without a set.
func TestArangesAgree(t *testing.T) {
	dir := t.TempDir()
	var objects []string
	for i, cc := range []string{"gcc", "gcc", "clang"} {
		source := filepath.Join(dir, string(rune('a'+i))+".c")
		text := "static int twice(int x) { return x * 2; }\nint " + string(rune('f'+i)) + "(int x) { return twice(x) + 1; }\n"
		if i == 0 {
			text += "int main(void) { return f(1); }\n"
		}
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		runTool(t, cc, "-g", "-O1", "-c", source, "-o", source+".o")
		objects = append(objects, source+".o")
	}
	two, three := filepath.Join(dir, "two"), filepath.Join(dir, "three")
	runTool(t, "gcc", objects[0], objects[1], "-o", two)
	runTool(t, "gcc", append(objects, "-o", three)...)
	for path, usable := range map[string]bool{two: true, three: false, "/usr/bin/python3.11d": true} {
		o, err := Open(path, Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer o.Close()
		dw, err := o.DWARF.read()
		if dw == nil || err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		answered := 0
		for _, s := range o.File.Segments() {
			if !s.Exec {
				continue
			}
			r := rand.New(rand.NewSource(1))
			for range 3000 {
				a := uint64(s.Addr) + uint64(r.Int63n(int64(s.Memsz)))
				dw.code.scanned.Store(0)
				i := dw.arangeAt(a)
				if i < 0 {
					continue
				}
				if answered++; i != int(dw.codeMap().At(a)) {
					t.Fatalf("%s: %#x: unit %d, the units say %d", path, a, i, dw.codeMap().At(a))
				}
			}
		}
		if usable != (answered > 0) {
			t.Errorf("%s: %d addresses answered by .debug_aranges", path, answered)
		}
	}
}

func runTool(t *testing.T, tool string, args ...string) {
	t.Helper()
	if out, err := exec.Command(testprogs.Tool(t, tool), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", tool, args, err, out)
	}
}
