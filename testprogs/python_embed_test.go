package testprogs

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// embedding builds testdata/python/embed.c with the interpreter's own library.
func embedding(t *testing.T, p string) string {
	t.Helper()
	config := p + "-config"
	ask := func(flag string) []string {
		out, err := exec.Command(config, "--embed", flag).Output()
		if err != nil {
			if p == "/usr/bin/python3" {
				t.Fatalf("%s: %v: apt-get install python3-dev", config, err)
			}
			t.Skipf("%s: %v", config, err)
		}
		return strings.Fields(string(out))
	}
	prog := filepath.Join(t.TempDir(), "embed")
	args := append(ask("--includes"), "-g", "-O1", "-o", prog, "testdata/python/embed.c")
	libraries := ask("--ldflags")
	for _, l := range libraries {
		if dir, ok := strings.CutPrefix(l, "-L"); ok {
			args = append(args, "-Wl,-rpath,"+dir)
		}
	}
	if out, err := exec.Command(Tool(t, "gcc"), append(args, libraries...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return prog
}

// TestPythonEmbedded records a server that embeds CPython: launched, as a worker that it has
// forked and hdb has attached to, with threads in the main interpreter and in interpreters of
// their own, in both planes, and as a capture. All blocks have the functions that the program
// calls, and at a stop each thread is told of.
func TestPythonEmbedded(t *testing.T) {
	const threads, requests = 2, 40
	folder, err := filepath.Abs("testdata/python")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pythons(t) {
		if testing.Short() && p != "/usr/bin/python3" {
			continue
		}
		t.Run(strings.TrimPrefix(p, "/"), func(t *testing.T) {
			prog := embedding(t, p)
			for _, in := range []string{"main", "own"} {
				for _, plane := range []string{"auto", "off"} {
					if testing.Short() && (in == "main" || plane == "off") {
						continue
					}
					e := embedded{prog: prog, args: []string{folder, "0", fmt.Sprint(threads), fmt.Sprint(requests), in}, plane: plane}
					if !testing.Short() { // TestPythonEmbeddedStatically launches one
						t.Run("launched "+in+" "+plane, func(t *testing.T) { e.launched(t) })
					}
					e.args[1] = "2"
					t.Run("attached "+in+" "+plane, func(t *testing.T) { e.attached(t) })
				}
			}
		})
	}
}

// TestPythonEmbeddedStatically has the interpreter in the program's own file: the capture knows
// that, too.
func TestPythonEmbeddedStatically(t *testing.T) {
	archives, err := filepath.Glob("/usr/lib/python3.*/config-3.*-linux-gnu/libpython3.[0-9]*[0-9].a")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no libpython.a below /usr/lib: %v (apt-get install python3-dev)", err)
	}
	folder, err := filepath.Abs("testdata/python")
	if err != nil {
		t.Fatal(err)
	}
	prog := filepath.Join(t.TempDir(), "embed")
	include := "-I/usr/include/" + strings.TrimSuffix(filepath.Base(archives[0])[len("lib"):], ".a")
	args := []string{"-no-pie", "-rdynamic", "-g", "-O1", include, "-o", prog, "testdata/python/embed.c", archives[0], "-lexpat", "-lz", "-lm", "-ldl"}
	if out, err := exec.Command(Tool(t, "gcc"), args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	e := embedded{prog: prog, args: []string{folder, "0", "2", "40", "own"}, plane: "auto"}
	file := filepath.Join(t.TempDir(), "embed.hdb")
	script := "start\nrecord start\ntbreak finished\n" + fmt.Sprintf(embeddedQuestions, file)
	live := e.hdb(t, script, append([]string{"--args", e.prog}, e.args...)...)
	e.check(t, file, live, true)
	_, table, _ := strings.Cut(string(live), "bytes  calls  function\n")
	table, _, _ = strings.Cut(table, "saved ")
	saved, err := exec.Command(HDB(t), "-nx", "-batch", "-ex", "top 1000 by count", file).CombinedOutput()
	if err != nil || table == "" || !strings.Contains(string(saved), table) {
		t.Errorf("%v: the capture has\n%s\nthe session had\n%s", err, saved, table)
	}
}

// An embedded is a run of embed.c.
type embedded struct {
	prog, plane string
	args        []string
}

const embeddedQuestions = "continue\nthread apply all -s py bt\ntop 1000 by count\nsave %s\nkill\n"

func (e embedded) launched(t *testing.T) {
	file := filepath.Join(t.TempDir(), "embed.hdb")
	script := "set probe " + e.plane + "\nstart\nrecord start\ntbreak finished\n" + fmt.Sprintf(embeddedQuestions, file)
	e.check(t, file, e.hdb(t, script, append([]string{"--args", e.prog}, e.args...)...), true)
}

// attached attaches to one of two workers before it works.
func (e embedded) attached(t *testing.T) {
	dir := t.TempDir()
	begin := filepath.Join(dir, "go")
	server := exec.Command(e.prog, append(e.args, begin)...)
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	server.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-server.Process.Pid, syscall.SIGKILL)
		_ = server.Wait() // of a signal
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, _, _ := strings.Cut(line, " ")
	file := filepath.Join(dir, "embed.hdb")
	script := "set probe " + e.plane + "\nrecord start\ntbreak finished\nshell touch " + begin + "\n" + fmt.Sprintf(embeddedQuestions, file)
	text := e.hdb(t, script, "-p", pid)
	e.check(t, file, text, false)
	if !bytes.Contains(text, []byte("blocks from before are not counted")) {
		t.Errorf("top does not say that blocks are from before:\n%s", text)
	}
}

func (e embedded) hdb(t *testing.T, script string, args ...string) []byte {
	t.Helper()
	commands := filepath.Join(t.TempDir(), "commands")
	if err := os.WriteFile(commands, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := Context(t)
	defer cancel()
	cmd := exec.CommandContext(ctx, HDB(t), append([]string{"-nx", "-batch", "-x", commands}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// check compares the blocks of each function with those that the program asks for: live, and in
// the capture.
func (e embedded) check(t *testing.T, file string, live []byte, preloads bool) {
	t.Helper()
	saved, err := exec.Command(HDB(t), "-nx", "-batch", "-ex", "top 1000 by count", file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, saved)
	}
	blocks := map[string]string{"render": "80", "remember": "40", "server_buffer": "80"}
	if preloads {
		blocks["preload"] = "20"
	}
	for what, out := range map[string][]byte{"live": live, "saved": saved} {
		got := map[string]string{}
		for line := range strings.Lines(string(out)) {
			fields := strings.Fields(line)
			for i, f := range fields {
				if _, asked := blocks[f]; asked && i > 1 && strings.Contains(line, "embed") {
					got[f] = fields[i-1]
				}
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(blocks) {
			t.Errorf("%s: blocks of %v, want %v\n%s", what, got, blocks, out)
		}
	}
	if n := bytes.Count(live, []byte("#0  wait  ")); n != 2 {
		t.Errorf("%d threads wait in Python, want 2\n%s", n, live)
	}
}
