package planes

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/capture/file"
	"hdb/inferior/machine"
	"hdb/testprogs"
)

// A plane is a way in which hdb follows allocator calls.
type plane string

const (
	plain plane = "plain" // a breakpoint on every allocator function
	probe plane = "probe" // code inside the program

	// either is the probe where it can be had, else breakpoints; it is no plane of
	// its own to test.
	either plane = "either"
)

// planes are those to test.
var planes = [...]plane{plain, probe}

// settings are the commands that choose the plane.
func (p plane) settings() []string {
	return []string{"set probe " + map[plane]string{plain: "off", probe: "on", either: "auto"}[p]}
}

// A job is one run of a program under hdb, from its start to its end.
type job struct {
	testprogs.Command
	Input  string   // file at its standard input; /dev/null when empty
	Script []string // commands of hdb instead of "run"; RUN in them is run with its redirections
	Silent bool     // its output goes to /dev/null, as under package oracle's gdb
}

// A recording is what came of a job.
type recording struct {
	*file.File
	plane plane
	said  string // by hdb
	out   string // by the program
}

// passed are signals that hdb would stop at and the programs handle themselves,
// or die of.
var passed = []string{"SIGUSR1", "SIGUSR2", "SIGSEGV", "SIGBUS", "SIGTRAP", "SIGABRT", "SIGILL", "SIGFPE", "SIGSYS", "SIGTERM", "SIGHUP", "SIG35"}

// try records the whole of the job and saves a capture. The error is about hdb,
// not about the program.
func try(t testing.TB, p plane, j job) (*recording, error) {
	t.Helper()
	dir := t.TempDir()
	path, out := filepath.Join(dir, "run.hdb"), filepath.Join(dir, "out")
	input := j.Input
	if input == "" {
		input = "/dev/null"
	}
	run := fmt.Sprintf("run %s< %s > %s 2> %s", quoted(j.Args), input, out, filepath.Join(dir, "err"))
	if j.Silent {
		run = fmt.Sprintf("run %s< %s > /dev/null 2> /dev/null", quoted(j.Args), input)
	}
	commands := p.settings()
	for _, s := range passed {
		commands = append(commands, "handle "+s+" nostop noprint pass")
	}
	commands = append(commands, "record start")
	if len(j.Script) == 0 {
		commands = append(commands, run)
	}
	for _, c := range j.Script {
		commands = append(commands, strings.ReplaceAll(c, "RUN", run))
	}
	said, err := hdb(t, j, append(commands, "record status", "save "+path), "--args", j.Path)
	text, _ := os.ReadFile(out)
	if err != nil {
		complaint, _ := os.ReadFile(filepath.Join(dir, "err"))
		return nil, fmt.Errorf("%s plane: %w\n%s%s%s", p, err, said, text, complaint)
	}
	if p == probe && strings.Contains(said, "plain breakpoints follow") {
		return nil, fmt.Errorf("the probe did not follow all of the run:\n%s", said)
	}
	f, err := file.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s plane: %w\n%s", p, err, said)
	}
	t.Cleanup(func() { f.Close() })
	if err := f.Check(); err != nil {
		return nil, fmt.Errorf("%s plane: %w", p, err)
	}
	if wrong := f.Verify(); len(wrong) > 0 {
		return nil, fmt.Errorf("%s plane: the capture is wrong: %s", p, strings.Join(wrong, "; "))
	}
	return &recording{File: f, plane: p, said: said, out: string(text)}, nil
}

// record is try for jobs that must succeed.
func record(t testing.TB, p plane, j job) *recording {
	t.Helper()
	r, err := try(t, p, j)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// hdb runs hdb in batch mode in the environment and folder of the job.
func hdb(t testing.TB, j job, commands []string, args ...string) (said string, err error) {
	t.Helper()
	path := testprogs.HDB(t)
	ctx, cancel := testprogs.Context(t)
	defer cancel()
	line := []string{"-batch", "-nx"}
	for _, c := range commands {
		line = append(line, "-ex", c)
	}
	cmd := exec.CommandContext(ctx, path, append(line, args...)...)
	cmd.Env, cmd.Dir = j.Env, j.Dir
	if without, ok := os.LookupEnv(machine.Variable); ok { // the machine is the test's
		cmd.Env = append(slices.Clip(cmd.Env), machine.Variable+"="+without)
	}
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if status := (*exec.ExitError)(nil); errors.As(err, &status) && status.ExitCode() == diedBySignal {
		err = nil
	}
	if ctx.Err() != nil {
		err = errors.Join(errors.New("hdb still ran when the test had to end"), err)
	}
	return signalTable.ReplaceAllString(out.String(), ""), err
}

// signalTable is what handle prints.
var signalTable = regexp.MustCompile(`(?m)^(signal +stop .*|SIG[A-Z0-9]+ +(yes|no) .*)\n`)

// diedBySignal is hdb's exit code when its own work went well.
const diedBySignal = 5

// quoted writes arguments so that hdb reads them back as they are.
func quoted(args []string) string {
	var b strings.Builder
	for _, a := range args {
		b.WriteString("'" + strings.ReplaceAll(a, "'", `'\''`) + "' ")
	}
	return b.String()
}

// program is the job of a program of testprogs with nothing but its arguments.
func program(t testing.TB, name string, flags []string, args ...string) job {
	t.Helper()
	path := testprogs.Build(t, name, flags...)
	return job{Command: testprogs.Command{Path: path, Args: args, Env: []string{"PATH=/usr/bin:/bin"}, Dir: filepath.Dir(path)}}
}

// ending is what hdb said of the program's end: "exited with code 0".
func (r *recording) ending() string {
	for line := range strings.Lines(r.said) {
		if strings.HasPrefix(line, "exited with") || strings.HasPrefix(line, "terminated by") || strings.HasPrefix(line, "killed by") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// TestPlanes records a program that does little.
func TestPlanes(t *testing.T) {
	for _, p := range planes {
		r := record(t, p, program(t, "basic", nil))
		if r.Len() == 0 || r.ending() != "exited with code 0" {
			t.Errorf("%s: %d events, %q\n%s", p, r.Len(), r.ending(), r.said)
		}
	}
}
