package values_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestSystemStatics asks for statics in a frame without debug information: those of the C library, here of one
// that is named as if it were its linker, come after the program's, and commands that take addresses say
// what is ambiguous as print does.
func TestSystemStatics(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"lib.c":  "static int twin = 1, several = 1; int *lib(void) { return several ? &twin : &several; }",
		"bare.c": "void bare(void) {}",
		"a.c":    "int *lib(void), *b(void); void bare(void); static int twin = 2, twice = 3; int main(void) { bare(); return *lib() + *b() + twin + twice; }",
		"b.c":    "static int twice = 4; int *b(void) { return &twice; }",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"-g", "-shared", "-fPIC", "-Wl,-soname,ld-linux-own.so", "lib.c", "-o", "ld-linux-own.so"},
		{"-c", "bare.c"},
		{"-g", "a.c", "b.c", "bare.o", "./ld-linux-own.so", "-Wl,-rpath," + dir, "-o", "prog"},
	} {
		cmd := exec.Command("gcc", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	const ambiguous = `"twice" is unknown here, and static in a.c, b.c`
	args := []string{"-nx", "-batch", "-ex", "break bare", "-ex", "run"}
	asked := [][2]string{
		{"print twin", "$1 = 2\n"}, {"print several", "$2 = 1\n"}, {"print twice", "print: " + ambiguous}, {"reach twice", "reach: " + ambiguous},
		{"why twice", "why: " + ambiguous}, {"refs twice", "refs: " + ambiguous},
	}
	for _, q := range asked {
		args = append(args, "-ex", `echo \n@@\n`, "-ex", q[0])
	}
	out, _ := exec.Command(testprogs.HDB(t), append(args, filepath.Join(dir, "prog"))...).CombinedOutput()
	answers := strings.Split(string(out), "\n@@\n")[1:]
	if len(answers) != len(asked) {
		t.Fatalf("%d answers, want %d\n%s", len(answers), len(asked), out)
	}
	for i, q := range asked {
		if !strings.Contains(answers[i], q[1]) {
			t.Errorf("%s: %q, want %q", q[0], answers[i], q[1])
		}
	}
}
