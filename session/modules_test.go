package session

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"hdb/inferior"
	"hdb/names"
	"hdb/symbols"
	"hdb/testprogs"
	"hdb/values"
)

// waiter is a program of two modules that waits in the library.
const (
	waiterMain = "void wait_in_library(void);\nint main(void)\n{\n\twait_in_library();\n\treturn 0;\n}\n"
	waiterLib  = "#include <unistd.h>\nvoid wait_in_library(void)\n{\n\tpause();\n\tpause();\n}\n"
)

func gcc(t *testing.T, dir string, files map[string]string, args ...string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(testprogs.Tool(t, "gcc"), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("gcc %v: %v\n%s", args, err, out)
	}
}

// startWaiter builds the program and starts it.
func startWaiter(t *testing.T) (dir string, pid int) {
	t.Helper()
	dir = t.TempDir()
	gcc(t, dir, map[string]string{"lib.c": waiterLib}, "-g", "-O1", "-shared", "-fPIC", "-o", "libwaiter.so", "lib.c")
	gcc(t, dir, map[string]string{"main.c": waiterMain}, "-g", "-O1", "-o", "waiter", "main.c", "./libwaiter.so", "-Wl,-rpath,$ORIGIN")
	cmd := exec.Command(filepath.Join(dir, "waiter"))
	cmd.Dir = dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 500 {
		time.Sleep(10 * time.Millisecond)
		if b, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/wchan"); err == nil && strings.Contains(string(b), "pause") {
			return dir, cmd.Process.Pid
		}
		if b, err := os.ReadFile("/proc/" + strconv.Itoa(cmd.Process.Pid) + "/syscall"); err == nil && strings.HasPrefix(string(b), "34 ") {
			return dir, cmd.Process.Pid // pause
		}
	}
	t.Fatal("the program does not wait")
	return "", 0
}

// TestReplacedFiles attaches to a program whose files were deleted, and one of them
// replaced by another build, as an upgrade does.
func TestReplacedFiles(t *testing.T) {
	dir, pid := startWaiter(t)
	for _, name := range []string{"waiter", "libwaiter.so"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	gcc(t, dir, map[string]string{"lib.c": "int other;\n" + waiterLib}, "-g", "-O0", "-shared", "-fPIC", "-o", "libwaiter.so", "lib.c")
	s := open(t, "basic")
	must(t)(s.Attach(pid))
	s.Selection.ShowPastMain(true)
	st, err := s.Selection.Stack(0)
	if err != nil {
		t.Fatal(err)
	}
	if got := path(st.Frames); !strings.Contains(got, "wait_in_library:4 main:4 ") {
		t.Errorf("stack %s", got)
	}

	// Who may not open what was mapped is told, and gets no names of another build.
	i := slices.IndexFunc(s.target.Proc.Modules(), func(m inferior.Module) bool { return filepath.Base(m.Name) == "libwaiter.so" })
	mapped := names.Mapping(s.target.Proc.Modules()[i])
	right, _ := s.target.Names.Modules.ObjectAt(mapped.Low)
	want := right.File.BuildID()
	mapped.Path = filepath.Join(dir, "libwaiter.so")
	var set names.Settings
	find := func() (*symbols.Object, error) {
		r := names.New(names.Config{Settings: &set, Notify: func(line string) { t.Log(line) }})
		t.Cleanup(func() { r.Close() })
		r.Attach(pid, s.target.Proc)
		r.Modules.Update([]names.Mapping{mapped})
		return r.Modules.Object(r.Modules.At(mapped.Low))
	}
	if obj, err := find(); obj != nil || err == nil || strings.Count(err.Error(), "build ID ") != 2 {
		t.Errorf("another build: %v, %v", obj, err)
	}
	debug := filepath.Join(dir, "debug/.build-id", want[:2], want[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(debug), 0o755); err != nil {
		t.Fatal(err)
	}
	gcc(t, dir, map[string]string{"lib.c": waiterLib}, "-g", "-O1", "-shared", "-fPIC", "-o", debug, "lib.c")
	set.DebugDirs = []string{filepath.Join(dir, "debug")}
	if obj, err := find(); obj == nil || obj.File.BuildID() != want {
		t.Errorf("debug file by build ID: %v, %v", obj, err)
	}
}

// TestCallOfAStoppedProcess attaches to a process that SIGSTOP has stopped: a function cannot be called there, and once the
// process has been continued it can.
func TestCallOfAStoppedProcess(t *testing.T) {
	_, pid := startWaiter(t)
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, unix.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatal(status, err)
	}
	s := open(t, "basic")
	must(t)(s.Attach(pid))
	want := fmt.Sprintf("a signal has stopped the process (SIGSTOP or the like), and its functions cannot be called: continue, kill -CONT %d, then interrupt", pid)
	if _, text, err := s.Values.Print("(int)getpid()", values.Options{}); err == nil || err.Error() != want {
		t.Fatalf("%s, %v, want %q", text, err, want)
	}
	if _, err := s.Detach(); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.Wait4(pid, &status, unix.WCONTINUED, nil); err != nil || !status.Continued() {
		t.Fatal(status, err)
	}
	must(t)(s.Attach(pid))
	if _, text, err := s.Values.Print("(int)getpid()", values.Options{}); err != nil || text != fmt.Sprint(pid) {
		t.Fatalf("%s, %v, want %d", text, err, pid)
	}
}
