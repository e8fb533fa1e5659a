package testprogs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// gdbScript is the extension of gdb that CPython comes with, "" if it is not there.
func gdbScript(python string) string {
	real, err := filepath.EvalSymlinks(python)
	if err != nil {
		return ""
	}
	for _, script := range []string{real + "-gdb.py", filepath.Join("/usr/share/gdb/auto-load", real+"-gdb.py")} {
		if _, err := os.Stat(script); err == nil {
			return script
		}
	}
	return ""
}

var gdbFrame = regexp.MustCompile(`(?m)^  File "(.*)", line (\d+), in (.*)$`)

// TestPythonAgainstGDB stops a program anywhere and compares its functions of Python with
// those of CPython's own extension of gdb, py-bt.
func TestPythonAgainstGDB(t *testing.T) {
	script, err := filepath.Abs("testdata/python/busy.py")
	if err != nil {
		t.Fatal(err)
	}
	rounds := Rounds(14, 200) // of Debian's build one in three can be compared, see below
	for _, p := range pythons(t) {
		extension := gdbScript(p)
		if extension == "" {
			t.Logf("%s: not compared: no extension of gdb beside it (of the system's: apt-get install python3-dbg)", p)
			continue
		}
		if testing.Short() && p != "/usr/bin/python3" {
			continue
		}
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			ctx, cancel := Context(t)
			defer cancel()
			cmd := exec.CommandContext(ctx, p, script, "10000")
			running, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = cmd.Process.Kill() // it ends in no other way
				_ = cmd.Wait()
			}()
			if line, err := bufio.NewReader(running).ReadString('\n'); err != nil {
				t.Fatalf("it says %q: %v", line, err)
			}
			if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			told := filepath.Join(dir, "told")
			commands := "set pagination off\nset confirm off\nset debuginfod enabled off\nsource " + extension + "\n"
			for range rounds {
				commands += fmt.Sprintf("attach %[1]d\necho ROUND\\n\npy-bt\ndetach\nshell %[2]s py --json %[1]d >>%[3]s\nshell kill -CONT %[1]d; sleep 0.0037; kill -STOP %[1]d\n", cmd.Process.Pid, HDB(t), told)
			}
			file := filepath.Join(dir, "commands")
			if err := os.WriteFile(file, []byte(commands), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(ctx, Tool(t, "gdb"), "-nx", "-q", "-batch", "-x", file, p).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%.1000s", err, out)
			}
			said := strings.Split(string(out), "ROUND\n")[1:]
			got, err := os.ReadFile(told)
			if err != nil {
				t.Fatal(err)
			}
			lines := slices.Collect(bytes.Lines(got))
			if len(said) != rounds || len(lines) != rounds {
				t.Fatalf("gdb told of %d stops, hdb of %d\n%.1000s", len(said), len(lines), out)
			}
			compared, between := 0, 0
			for i, text := range said {
				if strings.Contains(text, "optimized out") || !strings.Contains(text, "in <module>") {
					continue
				}
				compared++
				var want []string
				for _, f := range gdbFrame.FindAllStringSubmatch(text, -1) {
					want = append(want, f[3]+" "+f[1]+":"+f[2])
				}
				have := innermostThread(t, lines[i])
				if callBetween(want, have) {
					between++
					continue
				}
				if !slices.Equal(have, want) {
					t.Errorf("stop %d:\n got %q\nwant %q", i, have, want)
				}
			}
			t.Logf("%d of %d stops were compared; of the others gdb does not know all frames. At %d a call began or ended", compared, rounds, between)
			if between > compared/8+3 {
				t.Errorf("at %d of %d stops gdb has an innermost frame more", between, compared)
			}
			if compared < max(1, rounds/10) { // Debian's build keeps a frame in no place that its debug information knows at 2 of 3 stops
				t.Errorf("gdb knows the frames of %d stops only of %d\n%.1000s", compared, rounds, out)
			}
		})
	}
}

// callBetween reports whether gdb has further frames because a call begins or ends: it shows what the
// argument of the native frame is, one or two frames, and sometimes all of their callers a second time.
func callBetween(gdb, hdb []string) bool {
	extra := len(gdb) - len(hdb)
	if extra > len(hdb) && slices.Equal(gdb[extra-len(hdb):extra], hdb) {
		gdb, extra = gdb[:extra], extra-len(hdb)
	}
	return (extra == 1 || extra == 2) && slices.Equal(gdb[extra:], hdb)
}

// TestCallBetween: frames that gdb has once more are no others.
func TestCallBetween(t *testing.T) {
	stack := func(s string) []string { return strings.Fields(s) }
	for _, c := range []struct {
		gdb, hdb string
		between  bool
	}{
		{"p q r", "p q r", false},
		{"a p q r", "p q r", true},
		{"z a p q r", "p q r", true},
		{"y z a p q r", "p q r", false},
		{"a p q r p q r", "p q r", true},
		{"z a p q r p q r", "p q r", true},
		{"p q r p q r", "p q r", false}, // not the innermost call's argument
		{"a p x r p q r", "p q r", false},
		{"a p q x", "p q r", false},
		{"r", "p q r", false},
	} {
		if got := callBetween(stack(c.gdb), stack(c.hdb)); got != c.between {
			t.Errorf("gdb has %q, hdb %q: %t", c.gdb, c.hdb, got)
		}
	}
}

// innermostThread are the frames of thread 1, by the names of their code.
func innermostThread(t *testing.T, line []byte) (frames []string) {
	t.Helper()
	var v struct {
		Threads []struct {
			Frames []struct {
				Function, File string
				Line           int
			}
		}
	}
	if err := json.Unmarshal(line, &v); err != nil || len(v.Threads) == 0 {
		t.Fatalf("%.300s: %v", line, err)
	}
	for _, f := range v.Threads[0].Frames {
		name := f.Function[strings.LastIndexByte(f.Function, '.')+1:]
		frames = append(frames, name+" "+f.File+":"+strconv.Itoa(f.Line))
	}
	return frames
}
