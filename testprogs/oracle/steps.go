package oracle

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

//go:embed steps.py
var stepsScript []byte

// Position is where a debugger says that a program stands. The name of the function is
// without parameters and template arguments.
type Position struct {
	PC       uint64 `json:"pc"`
	Function string `json:"function"`
	File     string `json:"file"` // without folders
	Line     int    `json:"line"`
	Inlined  bool   `json:"inlined"`
	Ended    bool   `json:"ended"`
	Error    string `json:"error"`
}

// same compares what a user sees.
func (p Position) same(q Position) bool {
	return p.Ended == q.Ended && p.Function == q.Function && p.File == q.File && p.Line == q.Line && p.Inlined == q.Inlined
}

// A Stepper is a debugger that is asked one command after another.
type Stepper struct {
	t      testing.TB
	in     io.Writer
	out    *bufio.Reader
	answer func(line string) (p Position, ok bool)
}

// Do executes a command and tells where the program stands then.
func (s *Stepper) Do(command string) Position {
	s.t.Helper()
	s.tell(command)
	for {
		line, err := s.out.ReadString('\n')
		if err != nil {
			s.t.Fatalf("%s: %v", command, err)
		}
		if p, ok := s.answer(line); ok {
			p.Function = plainName(p.Function)
			return p
		}
	}
}

// tell is Do of a command that has no answer.
func (s *Stepper) tell(command string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, command+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// plainName leaves out parameters and template arguments.
func plainName(s string) string {
	if i := strings.Index(s, "operator"); i > 0 {
		return s[:i+len("operator")]
	}
	if i := strings.IndexAny(s, "(<"); i > 0 {
		s = s[:i]
	}
	return s
}

func newStepper(t testing.TB, cmd *exec.Cmd) *Stepper {
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	return &Stepper{t: t, in: in}
}

// GDBStepper is gdb with a program that is not started.
func GDBStepper(t testing.TB, c testprogs.Command) *Stepper {
	t.Helper()
	script := filepath.Join(t.TempDir(), "steps.py")
	if err := os.WriteFile(script, stepsScript, 0o644); err != nil {
		t.Fatal(err)
	}
	answers, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-nx", "-q", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off"}
	for _, ex := range []string{
		"set confirm off", "set pagination off", "set width 0", "set print inferior-events off", "set print thread-events off",
		"set startup-with-shell on", "set disable-randomization on",
	} {
		args = append(args, "-ex", ex)
	}
	cmd := exec.CommandContext(t.Context(), testprogs.Tool(t, "gdb"), append(args, "-x", script, c.Path)...)
	cmd.Env, cmd.Dir = append(c.Env[:len(c.Env):len(c.Env)], "SHELL=/bin/sh", "ANSWERS=3"), c.Dir
	cmd.ExtraFiles = []*os.File{w}
	s := newStepper(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { answers.Close() })
	s.out = bufio.NewReader(answers)
	s.answer = func(line string) (p Position, ok bool) {
		return p, json.Unmarshal([]byte(line), &p) == nil
	}
	return s
}

// HDBStepper is hdb with a program that is not started.
func HDBStepper(t testing.TB, c testprogs.Command) *Stepper {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testprogs.HDB(t), "-nx", "-q", "--json", "-ex", "set confirm off", c.Path)
	cmd.Env, cmd.Dir = c.Env, c.Dir
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s := newStepper(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.out = bufio.NewReader(out)
	s.answer = hdbPosition
	return s
}

// hdbPosition is where an object of --json says that the program stands, if it is about that.
func hdbPosition(line string) (p Position, ok bool) {
	var a struct {
		Command string `json:"command"`
		Error   string `json:"error"`
		Stop    json.RawMessage
	}
	if !strings.HasPrefix(line, `{"v":`) || json.Unmarshal([]byte(line), &a) != nil {
		return p, false
	}
	if a.Error != "" {
		return Position{Error: a.Error}, true
	}
	var stop struct {
		Frames []answerFrame `json:"frames"`
	}
	if json.Unmarshal(a.Stop, &stop) != nil { // tbreak, whose stop is a number
		return p, a.Command != "set"
	}
	if len(stop.Frames) == 0 {
		return Position{Ended: true}, true
	}
	f := stop.Frames[0]
	return Position{PC: f.PC.n(), Function: f.Function, File: filepath.Base(f.File), Line: f.Line, Inlined: f.Inlined}, true
}
