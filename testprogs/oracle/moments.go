package oracle

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hdb/testprogs"
)

// Plan says where debuggers stop a program once and look at its variables.
type Plan struct {
	Command testprogs.Command `json:"-"`
	Stops   []Place           `json:"stops"`
	Depth   int               `json:"depth"` // frames of each stop
	Out     string            `json:"out"`
}

// Place is a temporary breakpoint and what is done when it is hit.
type Place struct {
	Place  string `json:"place"`  // *ADDRESS, FUNCTION or FILE:LINE
	Ignore int    `json:"ignore"` // hits that are passed
	Steps  int    `json:"steps"`  // instructions to go on before the look
	Finish bool   `json:"finish"` // whether the frame is finished behind the look
}

// Moment is what a debugger shows of one stop.
type Moment struct {
	Place    string        `json:"place"`
	Steps    int           `json:"steps"`
	Frames   []MomentFrame `json:"frames"`
	Moved    bool          `json:"moved"` // finish was tried
	Finish   bool          `json:"finish"`
	Returned string        `json:"returned"` // by the frame that was finished, if Finish; "" for nothing
	After    uint64        `json:"after"`    // PC behind finish
}

// numbered is the frame with hdb's number, nil if there is none. Frames of functions that
// left by a jump are not counted.
func (m Moment) numbered(n int) *MomentFrame {
	for i := range m.Frames {
		if m.Frames[i].Tail {
			continue
		}
		if n == 0 {
			return &m.Frames[i]
		}
		n--
	}
	return nil
}

// MomentFrame is a frame with its variables, which libraries' frames do not have.
type MomentFrame struct {
	Frame
	Args   []Variable `json:"args"`
	Locals []Variable `json:"locals"`
	Entry  []Variable `json:"entry"` // what callers passed, of arguments for which that is known
}

// Variable is a name and the text of its value.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Overwritten says that gdb has it from a register of which it does not know whether
	// the called function has overwritten it.
	Overwritten bool `json:"overwritten"`
}

//go:embed moments.py
var momentsScript []byte

// GDBMoments is what gdb shows of the plan's stops, in the order in which they come.
func GDBMoments(t testing.TB, p Plan) []Moment {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "moments.py")
	p.Out = filepath.Join(dir, "out.json")
	if err := os.WriteFile(script, momentsScript, 0o644); err != nil {
		t.Fatal(err)
	}
	plan, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	// A string of JSON is one of Python, too.
	literal, err := json.Marshal(string(plan))
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"-nx", "-q", "-batch", "-iex", "set auto-load safe-path /", "-iex", "set debuginfod enabled off", "-iex", "set style enabled off"}
	for _, ex := range []string{
		"set exec-wrapper env -u PWD -u SHELL", "set disable-randomization on", "set confirm off", "set pagination off",
		"unset environment LINES", "unset environment COLUMNS",
		"set print inferior-events off", "set print thread-events off", "set width 0",
		"python import json; plan = json.loads(" + string(literal) + ")",
	} {
		args = append(args, "-ex", ex)
	}
	args = append(append(args, "-x", script, "--args", p.Command.Path), p.Command.Args...)
	out := say(t, testprogs.Tool(t, "gdb"), args, p.Command, append(p.Command.Env[:len(p.Command.Env):len(p.Command.Env)], "SHELL=/bin/sh"))
	data, err := os.ReadFile(p.Out)
	if err != nil {
		t.Fatalf("gdb: %v\n%s", err, out)
	}
	var moments []Moment
	if err := json.Unmarshal(data, &moments); err != nil {
		t.Fatalf("gdb's answer: %v", err)
	}
	return moments
}

// say runs a debugger without input, in the program's environment, and returns what was
// said. The exit code is that of the last command and means nothing here.
func say(t testing.TB, debugger string, args []string, c testprogs.Command, env []string) string {
	t.Helper()
	ctx, cancel := testprogs.Context(t)
	defer cancel()
	cmd := exec.CommandContext(ctx, debugger, args...)
	cmd.Env, cmd.Dir = env, c.Dir
	// A pipe would be the program's output, too.
	said, err := os.Create(filepath.Join(t.TempDir(), "said"))
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	_ = cmd.Run()
	out, err := os.ReadFile(said.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// HDBMoments is what hdb shows of the plan's stops. It asks for the entry values that
// are known to gdb.
func HDBMoments(t testing.TB, p Plan, gdb []Moment) []Moment {
	t.Helper()
	args := []string{"-nx", "-q", "-batch", "--json", "-ex", "set print frame-arguments all"}
	for i, s := range p.Stops {
		args = append(args, "-ex", "tbreak "+s.Place)
		if s.Ignore > 0 {
			args = append(args, "-ex", fmt.Sprintf("ignore %d %d", i+1, s.Ignore))
		}
	}
	args = append(args, "-ex", "run")
	type question struct {
		moment, number int
		name           string
	}
	var asked []question
	for i, m := range gdb {
		for range m.Steps {
			args = append(args, "-ex", "stepi")
		}
		args = append(args, "-ex", fmt.Sprintf("bt full %d", p.Depth))
		number := 0
		for _, f := range m.Frames {
			for _, e := range f.Entry {
				args = append(args, "-ex", fmt.Sprintf("frame %d", number), "-ex", "print "+e.Name+"@entry")
				asked = append(asked, question{i, number, e.Name})
			}
			if !f.Tail {
				number++
			}
		}
		if m.Moved {
			args = append(args, "-ex", "frame 0", "-ex", "finish")
		}
		args = append(args, "-ex", "continue")
	}
	args = append(append(args, "--args", p.Command.Path), p.Command.Args...)
	out := say(t, testprogs.HDB(t), args, p.Command, p.Command.Env)
	var moments []Moment
	printed := 0
	for line := range strings.Lines(out) {
		var a answer
		if !strings.HasPrefix(line, `{"v":`) || json.Unmarshal([]byte(line), &a) != nil {
			continue // the program's own
		}
		switch a.Command {
		case "bt":
			var m Moment
			for _, f := range a.Frames {
				m.Frames = append(m.Frames, f.moment())
			}
			moments = append(moments, m)
		case "finish":
			if len(moments) > 0 && a.Stop != nil {
				m := &moments[len(moments)-1]
				m.Finish, m.Returned = true, a.Stop.Returned.Value
				if len(a.Stop.Frames) > 0 {
					m.After = a.Stop.Frames[0].PC.n()
				}
			}
		case "print":
			if printed < len(asked) {
				q := asked[printed]
				printed++
				if v := a.Value; a.Error == "" && q.moment < len(moments) {
					f := moments[q.moment].numbered(q.number)
					if f == nil {
						continue
					}
					f.Entry = append(f.Entry, Variable{Name: q.name, Value: v})
				}
			}
		}
	}
	if len(moments) == 0 {
		t.Fatalf("hdb showed nothing:\n%s", out)
	}
	return moments
}

// answer is what the comparison needs of an object of --json.
type answer struct {
	Command string        `json:"command"`
	Error   string        `json:"error"`
	Frames  []answerFrame `json:"frames"`
	Value   string        `json:"value"`
	Stop    *struct {
		Returned Variable      `json:"returned"`
		Frames   []answerFrame `json:"frames"`
	} `json:"stop"`
}

type answerFrame struct {
	PC       hexadecimal `json:"pc"`
	Function string      `json:"function"`
	File     string      `json:"file"`
	Line     int         `json:"line"`
	Inlined  bool        `json:"inlined"`
	Tail     bool        `json:"tail_call"`
	Module   string      `json:"module"`
	Args     []Variable  `json:"arguments"`
	Locals   []Variable  `json:"locals"`
}

// hexadecimal is an address as --json writes it.
type hexadecimal string

func (h hexadecimal) n() uint64 {
	n, _ := strconv.ParseUint(string(h), 0, 64)
	return n
}

func (f answerFrame) moment() MomentFrame {
	return MomentFrame{
		Frame: Frame{PC: f.PC.n(), Function: f.Function, File: f.File, Line: f.Line, Inlined: f.Inlined, Tail: f.Tail, Module: f.Module},
		Args:  f.Args, Locals: f.Locals,
	}
}
