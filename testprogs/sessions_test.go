package testprogs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/shlex"

	"hdb/internal/golden"
)

// A session file is the transcript of a conversation with hdb:
//
//	# what it shows
//	& {worker} 4
//	$ hdb ARGS {sizes -O2}
//	(hdb) break alloc if size >= 1MiB
//	what hdb printed
//	[exit 0]
//
// The lines after a prompt are hdb's standard input, all the others are
// compared. There may be several commands ($), run in one empty folder, and
// one program in the background (&) whose process ID is {pid}; its standard
// input ends after the last command. {NAME FLAG...} is the test program of
// that name, {src} the folder of its source and {tmp} the folder that the
// commands run in. Addresses, times and the like are placeholders (see
// Normaliser). go test -run TestSessions -update writes what hdb prints.
const (
	prompt     = "(hdb) "
	morePrompt = "    > " // within commands, define and the like
)

func TestSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.session")
	if err != nil || len(files) == 0 {
		t.Fatalf("no session files: %v", err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".session")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, filepath.Base(f), []byte(newPlayer(t).play(parseSession(string(src)))))
		})
	}
}

// script is what a session file asks for.
type script struct {
	head  []string // comment lines
	back  string   // program in the background
	steps []step
}

// step is one command and what it is told.
type step struct {
	command string
	input   []string // lines with their prompts
}

func parseSession(src string) script {
	var s script
	for line := range strings.Lines(src) {
		line = strings.TrimSuffix(line, "\n")
		last := len(s.steps) - 1
		switch {
		case strings.HasPrefix(line, "# ") && last < 0:
			s.head = append(s.head, line)
		case strings.HasPrefix(line, "& ") && last < 0:
			s.back = line[2:]
		case strings.HasPrefix(line, "$ "):
			s.steps = append(s.steps, step{command: line[2:]})
		case last >= 0 && isInput(line):
			s.steps[last].input = append(s.steps[last].input, line)
		}
	}
	return s
}

func isInput(line string) bool {
	return line == strings.TrimRight(prompt, " ") || strings.HasPrefix(line, prompt) || strings.HasPrefix(line, morePrompt)
}

// player plays one session file.
type player struct {
	t     *testing.T
	dir   string // {tmp}
	paths [][2]string
	pid   string // of the program in the background
}

func newPlayer(t *testing.T) *player {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"home", "work"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p := &player{t: t, dir: dir}
	p.paths = [][2]string{
		{filepath.Join(root, "testprogs", "testdata"), "{src}"},
		{root, "{hdb}"},
		{filepath.Join(dir, "work"), "{tmp}"},
		{filepath.Join(dir, "home"), "{home}"},
	}
	if host, err := os.Hostname(); err == nil {
		p.paths = append(p.paths, [2]string{" on " + host + ",", " on {host},"})
	}
	return p
}

// play runs the whole script and returns its transcript.
func (p *player) play(s script) string {
	var out strings.Builder
	for _, line := range s.head {
		fmt.Fprintln(&out, line)
	}
	end := func() string { return "" }
	if s.back != "" {
		fmt.Fprintf(&out, "& %s\n", s.back)
		end = p.background(s.back)
	}
	var steps []string
	for _, st := range s.steps {
		steps = append(steps, p.run(st))
	}
	last := end()
	n := NewNormaliser(p.paths...)
	if p.pid != "" {
		n.Process(p.pid, "{pid}")
	}
	for i, st := range s.steps {
		n.musl = strings.Contains(st.command, "CC=musl-gcc")
		fmt.Fprintf(&out, "$ %s\n%s", st.command, n.withInput(steps[i], p.echoes(st)))
	}
	out.WriteString(n.Normalise(last))
	return out.String()
}

// withInput normalises a transcript, but for the lines that were typed: they
// are shown as the session file has them.
func (n *Normaliser) withInput(text string, echoes [][2]string) string {
	var out strings.Builder
	for _, e := range echoes {
		before, after, ok := strings.Cut(text, e[0]+"\n")
		if !ok {
			break // hdb stopped reading
		}
		out.WriteString(n.Normalise(before) + e[1] + "\n")
		text = after
	}
	return out.String() + n.Normalise(text)
}

// echoes pairs each input line as hdb shows it with the session file's.
func (p *player) echoes(st step) [][2]string {
	var all [][2]string
	for _, line := range st.input {
		all = append(all, [2]string{p.expand(line), line})
	}
	return all
}

var braces = regexp.MustCompile(`\{([a-z][^{}]*)\}`)

// expand puts paths in the place of {NAME FLAG...} and of the other names.
func (p *player) expand(text string) string {
	return braces.ReplaceAllStringFunc(text, func(name string) string {
		for _, known := range p.paths {
			if known[1] == name {
				return known[0]
			}
		}
		if name == "{pid}" {
			return p.pid
		}
		fields := strings.Fields(name[1 : len(name)-1])
		path := Build(p.t, fields[0], fields[1:]...)
		p.paths = append([][2]string{{path, name}, {filepath.Dir(path), "{build}"}}, p.paths...)
		return path
	})
}

// words splits a command line after its names were replaced.
func (p *player) words(line string) []string {
	words, err := shlex.Split(p.expand(line))
	if err != nil || len(words) == 0 {
		p.t.Fatalf("command line %q: %v", line, err)
	}
	return words
}

// environment is that of a user who has nothing but what hdb keeps of files: it is found
// out once for all sessions, as nothing of it is shown.
func (p *player) environment() []string {
	home := filepath.Join(p.dir, "home")
	cache, err := CacheDir()
	if err != nil {
		p.t.Fatal(err)
	}
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home + "/config",
		"XDG_STATE_HOME=" + home + "/state", "XDG_DATA_HOME=" + home + "/data", "XDG_CACHE_HOME=" + filepath.Join(cache, "sessions"),
		"LC_ALL=C.UTF-8", "TZ=UTC", "TERM=dumb", "SHELL=/bin/sh"}
}

// run runs one command with its input and returns what came out of it.
func (p *player) run(st step) string {
	words := p.words(st.command)
	if words[0] == "hdb" {
		words = append([]string{HDB(p.t), "--echo", "-q", "-nx"}, words[1:]...)
	}
	var input strings.Builder
	for _, line := range st.input {
		line = p.expand(line)
		fmt.Fprintln(&input, line[min(len(prompt), len(line)):])
	}
	ctx, cancel := Context(p.t)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir, cmd.Env = filepath.Join(p.dir, "work"), p.environment()
	cmd.Stdin = strings.NewReader(input.String())
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if n := out.Len(); n > 0 && out.Bytes()[n-1] != '\n' {
		out.WriteByte('\n')
	}
	var status *exec.ExitError
	switch {
	case ctx.Err() != nil:
		fmt.Fprintf(&out, "[killed: still running when the test had to end]\n")
	case err == nil || errors.As(err, &status) && status.Exited():
		fmt.Fprintf(&out, "[exit %d]\n", cmd.ProcessState.ExitCode())
	default:
		fmt.Fprintf(&out, "[%v]\n", err)
	}
	return out.String()
}

// background starts a program and waits until it says "ready PID"; the
// function returned ends its standard input and tells how it went.
func (p *player) background(line string) (end func() string) {
	words := p.words(line)
	ctx, cancel := Context(p.t)
	p.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = p.environment()
	in, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.pid = fmt.Sprint(cmd.Process.Pid)
	r := bufio.NewReader(out)
	if ready, err := r.ReadString('\n'); ready != "ready "+p.pid+"\n" {
		p.t.Fatalf("%s: %q, %v", line, ready, err)
	}
	return func() string {
		in.Close()
		rest, err := io.ReadAll(r)
		if err != nil {
			return fmt.Sprintf("& %v\n", err)
		}
		err = cmd.Wait()
		text := "& " + strings.TrimSuffix(string(rest), "\n")
		if err != nil {
			return fmt.Sprintf("%s (%v)\n", text, err)
		}
		return text + "\n"
	}
}

var heading = regexp.MustCompile("(?m)^## ([a-z][a-z -]*)$")

// TestEveryCommandInASession holds the manual against the sessions: a
// command that no session types in full is not shown to work.
func TestEveryCommandInASession(t *testing.T) {
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "commands", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	typed := typedLines(t)
	var commands [][]string
	for _, page := range pages {
		doc, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		commands = append(commands, heading.FindAllStringSubmatch(string(doc), -1)...)
	}
	if len(commands) < 100 {
		t.Fatalf("docs/commands has %d headings of commands", len(commands))
	}
	for _, m := range commands {
		use := regexp.MustCompile("(?m)^(pipe )?" + m[1] + `(\s|/|$)`)
		if !use.MatchString(typed) {
			t.Errorf("command %s occurs in no session: add it to testdata/*.session", m[1])
		}
	}
}

// typedLines is all that is typed in all sessions, a line each.
func typedLines(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.session")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, st := range parseSession(string(src)).steps {
			for _, line := range st.input {
				fmt.Fprintln(&out, strings.TrimLeft(line[min(len(prompt), len(line)):], " "))
			}
		}
	}
	return out.String()
}
