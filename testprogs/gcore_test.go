package testprogs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hdb/inferior/corefile"
)

// TestGcore writes cores of a process that is recorded by the probe and has breakpoints: gdb
// reads the program's own code in it, and stacks as if hdb had not been there.
func TestGcore(t *testing.T) {
	Tool(t, "gdb")
	dir := t.TempDir()
	program, core, none := Build(t, "gcore"), filepath.Join(dir, "probe.core"), filepath.Join(dir, "none.core")
	said := hdbSays(t, "-ex", "break here", "-ex", "record start", "-ex", "run", "-ex", "break churn", "-ex", "watch stop", "-ex", "gcore "+core,
		"-ex", "shell echo 0 > /proc/$(pidof -s "+program+")/coredump_filter", "-ex", "gcore "+none, "-ex", "info proc mappings", "-ex", "kill", program)
	if strings.Count(said, "core file ") != 2 || !strings.Contains(said, "/memfd:hdb probe") {
		t.Fatal(said)
	}
	sameStacks(t, program, core, 4, nil, "gcore.c")
	asked := []string{"-ex", "x/4i here", "-ex", "x/4i churn", "-ex", "x/4i malloc", "-ex", "print wide+(1L<<30)", "-ex", "print shared", "-ex", "print wide[0]"}
	code := regexp.MustCompile(`(?m)^(?:=> |   )?(0x[0-9a-f]+) <\S+>:\s+(\S+)|^\$.*`)
	instructions := func(out string) (all []string) {
		for _, m := range code.FindAllStringSubmatch(out, -1) {
			if m[1] == "" {
				all = append(all, m[0])
			} else {
				all = append(all, m[1]+" "+m[2])
			}
		}
		return all
	}
	theirs := instructions(gdb(t, append(append([]string{}, asked...), program, core)...))
	ours := instructions(hdbSays(t, append(append([]string{}, asked...), "core", program, core)...))
	plain := instructions(gdb(t, append(append([]string{}, asked[:4]...), "-ex", "break main", "-ex", "run", "-ex", "x/4i malloc", "-ex", "kill", program)...))
	if len(theirs) != 15 || strings.Join(theirs, "\n") != strings.Join(ours, "\n") {
		t.Errorf("hdb reads\n%s\ngdb reads\n%s", strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
	words := func(lines []string) (all []string) {
		for _, l := range lines {
			_, word, _ := strings.Cut(l, " ")
			all = append(all, word)
		}
		return all
	}
	if want := words(plain); len(want) != 12 || strings.Join(words(theirs[:12]), " ") != strings.Join(want, " ") {
		t.Errorf("the core has %q, the program %q", theirs[:12], plain)
	}
	secret := hdbSays(t, "-ex", "print secret", "-ex", "info proc mappings", "core", core)
	if !strings.Contains(secret, "<error: Cannot access memory") || strings.Contains(secret, "hdb probe") {
		t.Errorf("memory that was left out: %s", secret)
	}
	if st, err := os.Stat(core); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}

	// coredump_filter 0 leaves all memory out.
	out := hdbSays(t, "-ex", "bt", "-ex", "print wide", "-ex", "x/2i here", "-ex", "x/xg $sp", "core", none)
	for _, want := range []string{"#0* here", "left out of the core"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing:\n%s", want, out)
		}
	}
}

// TestGcoreInsideAllocator writes cores of a thread that the probe follows through malloc: its stack is whole in them.
func TestGcoreInsideAllocator(t *testing.T) {
	Tool(t, "gdb")
	for name, setup := range map[string][]string{
		"recorded":    {"record start"},
		"stop":        {"break malloc if size > 1000000000000"},
		"both":        {"record start", "break malloc if size > 1000000000000", "break calloc if size > 1000000000000"},
		"breakpoints": {"set probe off", "record start"},
		"nothing":     nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, core := Build(t, "gcoreinside"), filepath.Join(t.TempDir(), "inside.core")
			var args []string
			for _, c := range append(setup, "run", "thread apply all bt", "info registers rip", "gcore "+core, "kill") {
				args = append(args, "-ex", c)
			}
			said := hdbSays(t, append(args, program)...)
			if strings.Contains(said, "the probe called") || strings.Contains(said, "in the probe's code") {
				t.Error(said)
			}
			live := ownFrames(said, "hdb", "gcoreinside.c")
			kept := ownFrames(hdbSays(t, "-ex", "thread apply all bt", "core", program, core), "hdb", "gcoreinside.c")
			if len(live) != 2 || len(kept) != 2 {
				t.Errorf("frames of %d threads, in the core of %d\n%s", len(live), len(kept), said)
			}
			for tid, want := range live {
				if !slices.Equal(kept[tid], want) {
					t.Errorf("thread %s: %q, in the core %q", tid, want, kept[tid])
				}
			}
			theirs := gdb(t, "-ex", "bt", program, core)
			if !regexp.MustCompile(`(?s) in malloc .* in inner \(n=.*2000\) .* in outer \(n=.* in work \(arg=.*0x7d0\) `).MatchString(strings.ReplaceAll(theirs, "__GI___libc_malloc", "malloc")) ||
				strings.Contains(theirs, "in ??") {
				t.Errorf("gdb: %s", theirs)
			}
		})
	}
}

// TestGcoreDiskFull leaves nothing where the disk is full.
func TestGcoreDiskFull(t *testing.T) {
	dir := t.TempDir()
	full := filepath.Join(dir, "full")
	if err := os.Mkdir(full, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := Context(t)
	defer cancel()
	// A file system of its own, in a mount namespace of its own.
	script := `mount -t tmpfs -o size=100k none "$0" && "$1" -nx -q -batch -ex start -ex "gcore $0/x.core" -ex kill "$2"; ls -A "$0" | sed 's/^/left: /'`
	out, err := exec.CommandContext(ctx, "unshare", "-rm", "sh", "-c", script, full, HDB(t), Build(t, "corefile")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "error: gcore: ") || !strings.Contains(string(out), "no space left on device") || strings.Contains(string(out), "left: ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestCoreWithoutFiles finds the libraries by the dynamic linker's list, as in cores of old
// kernels, which lack NT_FILE.
func TestCoreWithoutFiles(t *testing.T) {
	program, dir := Build(t, "corefile"), t.TempDir()
	core, _ := hdbCore(t, program, dir)
	b, err := os.ReadFile(core)
	if err != nil {
		t.Fatal(err)
	}
	const ntFile = "ELIF" // 0x46494c45 in the file
	if n := bytes.Count(b[:1<<16], []byte(ntFile+"CORE")); n != 1 {
		t.Fatalf("%d notes of files", n)
	}
	copy(b[bytes.Index(b, []byte(ntFile+"CORE")):], "none")
	old := filepath.Join(dir, "old.core")
	if err := os.WriteFile(old, b, 0o600); err != nil {
		t.Fatal(err)
	}
	sameStacks(t, program, old, 3, nil, "corefile.c")
	if said := hdbSays(t, "-ex", "info sharedlibrary", "core", program, old); !strings.Contains(said, "libc.so.6") || !strings.Contains(said, "[vdso]") {
		t.Error(said)
	}
}

// TestSymbolizeCore names addresses of the process of a core.
func TestSymbolizeCore(t *testing.T) {
	program := Build(t, "corefile")
	core, _ := hdbCore(t, program, t.TempDir())
	f, err := corefile.Open(core)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pc := uint64(0)
	for i, b := range f.Threads[0].Regs[16*8:][:8] {
		pc |= uint64(b) << (8 * i)
	}
	ctx, cancel := Context(t)
	defer cancel()
	out, err := exec.CommandContext(ctx, HDB(t), "symbolize", "--core", core, "-f", fmt.Sprintf("%#x", pc)).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "walk\n") || !strings.Contains(string(out), "corefile.c:37") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestCoreOfGo reads goroutines and values of Go.
func TestCoreOfGo(t *testing.T) {
	program, core := Build(t, "golang"), filepath.Join(t.TempDir(), "go.core")
	said := hdbSays(t, "-ex", "break main.main", "-ex", "run", "-ex", "next", "-ex", "gcore "+core, "-ex", "goroutines", "-ex", "kill", program)
	if !strings.Contains(said, "core file ") {
		t.Fatal(said)
	}
	if said := hdbSays(t, "-ex", "goroutines", "-ex", "info locals", "-ex", "bt", "-ex", "next", "core", core); !strings.Contains(said, "running") ||
		!strings.Contains(said, "main.main") || !strings.Contains(said, "error: core: a core file cannot run") {
		t.Error(said)
	}
}
