package testprogs

import (
	"encoding/hex"
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

// A coreMaker makes a core file of a program that dies of a signal, or says why not.
type coreMaker struct {
	name string
	make func(t *testing.T, program, dir string) (path, why string)
}

var coreMakers = []coreMaker{{"kernel", kernelCore}, {"gcore of gdb", gdbCore}, {"gcore", hdbCore}}

// kernelCore has the kernel write a core where it writes them to files of the working
// directory.
func kernelCore(t *testing.T, program, dir string) (path, why string) {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil {
		return "", err.Error()
	}
	if strings.ContainsAny(string(pattern), "|/") {
		return "", fmt.Sprintf("core_pattern is %q", strings.TrimSpace(string(pattern)))
	}
	ctx, cancel := Context(t)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `ulimit -c unlimited || exit 3; exec "$0"`, program)
	cmd.Dir = dir
	err = cmd.Run()
	if err == nil || cmd.ProcessState.ExitCode() == 3 {
		return "", "ulimit -c does not allow cores"
	}
	files, err := os.ReadDir(dir)
	for _, f := range files {
		if path := filepath.Join(dir, f.Name()); corefile.Is(path) {
			return path, ""
		}
	}
	return "", fmt.Sprintf("%v, no core in %s, %v", cmd.ProcessState, dir, err)
}

func gdbCore(t *testing.T, program, dir string) (path, why string) {
	path = filepath.Join(dir, "gdb.core")
	gdb(t, "-ex", "run", "-ex", "gcore "+path, "-ex", "kill", program)
	return path, ""
}

func hdbCore(t *testing.T, program, dir string) (path, why string) {
	path = filepath.Join(dir, "hdb.core")
	if out := hdbSays(t, "-ex", "run", "-ex", "gcore "+path, "-ex", "kill", program); !strings.Contains(out, "core file ") {
		t.Fatalf("gcore:\n%s", out)
	}
	return path, ""
}

// gdb runs gdb in batch mode, and returns its standard output.
func gdb(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := Context(t)
	defer cancel()
	cmd := exec.CommandContext(ctx, Tool(t, "gdb"), append([]string{"-nx", "-q", "-batch", "-iex", "set auto-load safe-path /", "-iex", "set debuginfod enabled off",
		"-iex", "set confirm off", "-iex", "set width 0", "-iex", "set print inferior-events off"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gdb %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// hdbSays runs hdb in batch mode, and returns all that it prints.
func hdbSays(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := Context(t)
	defer cancel()
	out, err := exec.CommandContext(ctx, HDB(t), append([]string{"-nx", "-q", "-batch"}, args...)...).CombinedOutput()
	if err != nil && exitCode(err) < 0 {
		t.Fatalf("hdb %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func exitCode(err error) int {
	if e, ok := err.(*exec.ExitError); ok {
		return e.ExitCode()
	}
	return -1
}

var (
	gdbThread = regexp.MustCompile(`^Thread [0-9]+ \((?:.*LWP )?([0-9]+)\)`)
	hdbThread = regexp.MustCompile(`^thread [0-9]+ \(tid ([0-9]+)\)`)
	anyFrame  = regexp.MustCompile(`^#([0-9]+)\*? +(?:0x[0-9a-f]+ in )?(\w+) ?\((.*)\) +(?:at )?(?:\S*/)?(\w+\.c:[0-9]+)`)
)

// ownFrames are the frames of the source files in an output of `thread apply all bt`, by thread.
func ownFrames(output, thread string, files ...string) map[string][]string {
	all, tid := map[string][]string{}, ""
	for line := range strings.Lines(output) {
		if m := gdbThread.FindStringSubmatch(line); thread == "gdb" && m != nil {
			tid = m[1]
		}
		if m := hdbThread.FindStringSubmatch(line); thread == "hdb" && m != nil {
			tid = m[1]
		}
		m := anyFrame.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if m == nil || tid == "" {
			continue
		}
		if file, _, _ := strings.Cut(m[4], ":"); slices.Contains(files, file) {
			all[tid] = append(all[tid], fmt.Sprintf("#%s %s(%s) %s", m[1], m[2], m[3], m[4]))
		}
	}
	return all
}

// sameStacks holds the stacks of a core by hdb against those by gdb.
func sameStacks(t *testing.T, program, core string, threads int, setup [][2]string, files ...string) {
	t.Helper()
	var forGDB, forHDB []string
	for _, s := range setup {
		forGDB, forHDB = append(forGDB, "-iex", s[0]), append(forHDB, "-ex", s[1])
	}
	theirs := ownFrames(gdb(t, append(forGDB, "-ex", "thread apply all bt", program, core)...), "gdb", files...)
	said := hdbSays(t, append(forHDB, "-ex", "core-file "+core, "-ex", "thread apply all bt")...)
	ours := ownFrames(said, "hdb", files...)
	if len(ours) != threads || len(theirs) != threads {
		t.Errorf("%s: frames of %d threads, gdb has %d, want %d\n%s", core, len(ours), len(theirs), threads, head(said))
	}
	for tid, want := range theirs {
		if !slices.Equal(ours[tid], want) {
			t.Errorf("%s: thread %s: %q, gdb has %q\n%s", core, tid, ours[tid], want, head(said))
			return
		}
	}
}

func head(text string) string { return text[:min(len(text), 3000)] }

// TestCores reads cores of all kinds and makers, and holds stacks and values against gdb.
func TestCores(t *testing.T) {
	Tool(t, "gdb")
	for _, kind := range []struct {
		name  string
		flags []string
	}{
		{"dynamic", nil},
		{"fixed", []string{"-no-pie"}},
		{"static", []string{"-static"}},
		{"static-pie", []string{"-static-pie"}},
	} {
		if testing.Short() && (kind.name == "fixed" || kind.name == "static") {
			continue // static-pie and dynamic are the same but for where they are loaded
		}
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			program := Build(t, "corefile", kind.flags...)
			for _, m := range coreMakers {
				core, why := m.make(t, program, t.TempDir())
				if core == "" {
					t.Logf("no core of the %s: %s: gcore's alone is read", m.name, why)
					continue
				}
				t.Log(m.name)
				sameStacks(t, program, core, 3, nil, "corefile.c")
				sameValues(t, program, core)
				knownOwners(t, program, core)
			}
		})
	}
}

// knownOwners wants the kernel's mappings and the stacks of threads told in a core, whose mappings have no names.
func knownOwners(t *testing.T, program, core string) {
	t.Helper()
	said := hdbSays(t, "-ex", "vmmap", "core", program, core)
	for _, line := range regexp.MustCompile(`(?m)^ *0x.* (?:r--p +anonymous.*|runtime .*|(?:stack|tls|guard) +thread)$`).FindAllString(said, -1) {
		t.Errorf("%s: %s", core, line)
	}
	for _, want := range []string{`kernel +\[vdso\]`, `stack +thread 1\n`, `stack +thread 3\n`} {
		if !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("%s: no %s in\n%s", core, want, said)
		}
	}
}

// sameValues holds what is printed of a core against gdb.
func sameValues(t *testing.T, program, core string) {
	t.Helper()
	asked := []string{"print *head", "print head->next->name", "print seen", "print nowhere", "print own", "print $_siginfo.si_signo", "print $_siginfo._sifields._sigfault.si_addr", "print/x $rip", "print $rsp"}
	var ex []string
	for _, a := range asked {
		ex = append(ex, "-ex", a)
	}
	values := func(out string) []string {
		return slices.DeleteFunc(strings.Split(out, "\n"), func(line string) bool { return !strings.HasPrefix(line, "$") })
	}
	// gdb finds thread-local variables of static programs by libthread_db alone.
	theirs := values(gdb(t, append(append([]string{}, ex...), program, core)...))
	said := hdbSays(t, append(append([]string{}, ex...), "core", program, core)...)
	if ours := values(said); len(ours) != len(asked) || len(theirs) == len(asked) && !slices.Equal(ours, theirs) {
		t.Errorf("%s:\n%s\ngdb has\n%s", core, strings.Join(ours, "\n"), strings.Join(theirs, "\n"))
	}
}

// TestCoreOfManyThreads has hundreds of threads.
func TestCoreOfManyThreads(t *testing.T) {
	const workers = 300
	program := Build(t, "corefile", fmt.Sprintf("-DTHREADS=%d", workers))
	core, _ := hdbCore(t, program, t.TempDir())
	sameStacks(t, program, core, workers+1, nil, "corefile.c")
}

// TestCoreOfStrippedProgram finds names in a debug file by build ID.
func TestCoreOfStrippedProgram(t *testing.T) {
	dir := t.TempDir()
	program := Build(t, "corefile")
	stripped := filepath.Join(dir, "stripped")
	tell := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(Tool(t, args[0]), args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	tell("objcopy", "--strip-all", program, stripped)
	core, _ := hdbCore(t, stripped, dir)
	b, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	id := corefile.BuildID(b)
	if _, err := hex.DecodeString(id); err != nil || len(id) < 8 {
		t.Fatalf("build ID %q", id)
	}
	debug := filepath.Join(dir, "debug", ".build-id", id[:2], id[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(debug), 0o755); err != nil {
		t.Fatal(err)
	}
	tell("objcopy", "--only-keep-debug", program, debug)
	set := "set debug-file-directory " + filepath.Join(dir, "debug")
	sameStacks(t, stripped, core, 3, [][2]string{{set, set}}, "corefile.c")

	// Without the program its names come from the debug file alone, and its memory that is
	// not in the core from nowhere.
	if err := os.Remove(stripped); err != nil {
		t.Fatal(err)
	}
	said := hdbSays(t, "-ex", set, "-ex", "core-file "+core, "-ex", "print *head", "-ex", "x/2xg walk")
	for _, want := range []string{
		stripped + ": no such file or directory: its memory that is not in the core cannot be read", "#0  walk(n=", `$1 = {id = 2, name = 0x`,
		"left out of the core",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("without the program, %q is missing:\n%s", want, said)
		}
	}
}

// TestCoreOfLoadedLibrary has a library that the program has loaded by dlopen.
func TestCoreOfLoadedLibrary(t *testing.T) {
	dir := t.TempDir()
	program, core := Build(t, "dlopen"), filepath.Join(dir, "plugin.core")
	said := hdbSays(t, "-ex", "break plugin.c:20", "-ex", "run > /dev/null", "-ex", "gcore "+core, "-ex", "kill", program)
	if !strings.Contains(said, "core file ") {
		t.Fatal(said)
	}
	sameStacks(t, program, core, 1, nil, "plugin.c", "dlopen.c")
	if said := hdbSays(t, "-ex", "info sharedlibrary plugin", "-ex", "print result", "-ex", "print kept != 0", "core", core); !strings.Contains(said, "libplugin.so") || !strings.Contains(said, "$2 = 1") {
		t.Error(said)
	}
}

// TestCutCore reads what a core has that is cut at its end.
func TestCutCore(t *testing.T) {
	program := Build(t, "corefile")
	core, _ := hdbCore(t, program, t.TempDir())
	st, err := os.Stat(core)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []int64{99, 50, 1} {
		if err := os.Truncate(core, st.Size()*part/100); err != nil {
			t.Fatal(err)
		}
		said := hdbSays(t, "-ex", "info threads", "-ex", "bt", "-ex", "info registers rip", "core", core)
		for _, want := range []string{"! the core is cut off: ", "SIGSEGV", "thread 1", "<walk+"} {
			if !strings.Contains(said, want) {
				t.Errorf("%d%%: %q is missing:\n%s", part, want, said)
			}
		}
	}
}

// TestCoreOfReplacedProgram refuses a program that was built anew since.
func TestCoreOfReplacedProgram(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "corefile")
	copyTo := func(from string) {
		b, err := os.ReadFile(from)
		if err == nil {
			_ = os.Remove(program) // the first time there is none
			err = os.WriteFile(program, b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	copyTo(Build(t, "corefile"))
	core, _ := hdbCore(t, program, dir)
	copyTo(Build(t, "corefile", "-O2"))
	said := hdbSays(t, "-ex", "bt 2", "-ex", "x/i $pc", "core", core)
	for _, want := range []string{program + ": build ID ", "SIGSEGV", "left out of the core: " + program + ": build ID "} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing:\n%s", want, said)
		}
	}
	if strings.Contains(said, "walk(") {
		t.Errorf("names of the other build:\n%s", said)
	}
}
