package session

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hdb/names"
	"hdb/symbols"
)

// TestJITInterfaceAsGdb stops in code that LLVM's interpreter made, in either of its
// ways, and compares the frame with gdb's.
func TestJITInterfaceAsGdb(t *testing.T) {
	const source = "int triple(int x) { return x * 3; }\nint main(void)\n{\n\tvolatile int sum = triple(2);\n\t__builtin_trap();\n\treturn sum;\n}\n"
	for _, kind := range []string{"mcjit", "orc"} {
		if testing.Short() && kind == "mcjit" {
			continue // gdb reads LLVM's symbols for each
		}
		t.Run(kind, func(t *testing.T) {
			s := open(t, "basic")
			dir := t.TempDir()
			src, code := filepath.Join(dir, "made.c"), filepath.Join(dir, "made.ll")
			if err := os.WriteFile(src, []byte(source), 0o644); err != nil {
				t.Fatal(err)
			}
			run(t, "clang", "-g", "-O0", "-S", "-emit-llvm", src, "-o", code)
			lli := strings.TrimSpace(run(t, "sh", "-c", "command -v lli"))
			gdb := run(t, "gdb", "-q", "-batch", "-nx", "-ex", "run --jit-kind="+kind+" "+code, "-ex", "bt 1", lli)
			want := regexp.MustCompile(`#0 +(?:0x[0-9a-f]+ in )?(\w+) \(.*\) at (\S+):(\d+)`).FindStringSubmatch(gdb)
			if want == nil {
				t.Fatalf("gdb says\n%s", gdb)
			}
			if _, err := s.Load(lli); err != nil {
				t.Fatal(err)
			}
			args := "--jit-kind=" + kind + " " + code
			must(t)(s.Run(&args))
			f, err := s.Selection.Frame()
			if err != nil {
				t.Fatal(err)
			}
			if got := path([]names.Frame{f}); got != want[1]+":"+want[3] || f.File != want[2] || f.Frame.Source != symbols.FromJIT || f.Module != "jit" || f.Offset == 0 {
				t.Errorf("%s of %s, gdb says %s:%s of %s; %+v", got, f.File, want[1], want[3], want[2], f)
			}
			if _, err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			if frames := s.target.Names.Modules.Frames(f.Code); len(frames) == 0 || frames[0].Function != "main" {
				t.Errorf("when the process is gone: %+v", frames)
			}
		})
	}
}
