package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"hdb/console/allocs"
	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/inferior"
	"hdb/internal/flags"
	"hdb/report"
	"hdb/session"
	"hdb/session/target"
)

const assertUsage = `usage:
  hdb assert LIMITS [flags] CAPTURE
  hdb assert LIMITS [flags] -- PROG [ARGS...]

Checks what a program allocates against limits, for CI. Reports for each limit whether
it holds, and if not, the lines that contribute most. PROG is recorded with its own
standard input, output and error; hdb then writes to standard error.

limits and flags:
` + allocs.AssertFlags + `  -o FILE                   keep the recording of PROG
  --return-child-result     exit with PROG's own status when all limits hold

exit codes: 0 all limits hold and PROG exited with 0, 1 all hold but PROG exited with
another code, or the recording failed, 2 usage, 3 a limit does not hold, 4 cannot begin:
no such capture or program, or a file cannot be made, 5 all limits hold, and PROG was
killed by a signal, 6 a limit cannot be decided and none fails: the recording is
incomplete, or no allocator function of PROG is known
`

var errAssertUsage = errors.New("see hdb assert --help")

// assertOptions are the words behind hdb assert.
type assertOptions struct {
	allocs.Assertion
	capture string
	keep    string   // -o
	words   []string // the program and its arguments
	status  bool     // --return-child-result
	help    bool
}

func parseAssertFlags(argv []string) (*assertOptions, error) {
	o := &assertOptions{}
	for len(argv) > 0 && o.words == nil {
		switch word := argv[0]; {
		case word == "--" || word == "--args" || word == "-args":
			o.words = argv[1:]
		case flags.Is(word):
			var err error
			if argv, err = flags.Next(argv, o.flag); err != nil {
				return nil, fmt.Errorf("assert: %w: %w", err, errAssertUsage)
			}
		case o.capture != "":
			return nil, fmt.Errorf("assert: %q: one capture expected, or a program after --: %w", word, errAssertUsage)
		default:
			o.capture, argv = word, argv[1:]
		}
	}
	switch {
	case o.help:
	case o.capture == "" && len(o.words) == 0:
		return nil, fmt.Errorf("assert: a capture, or -- and a program, must follow: %w", errAssertUsage)
	case o.capture != "" && len(o.words) > 0:
		return nil, fmt.Errorf("assert: a capture and a program: %w", errAssertUsage)
	case o.keep != "" && o.capture != "":
		return nil, fmt.Errorf("assert: -o: a capture is checked, nothing is recorded: %w", errAssertUsage)
	}
	return o, nil
}

// flag has those, too, that the console's assert does not have.
func (o *assertOptions) flag(name string) flags.Flag {
	switch name {
	case "h", "help":
		return flags.On(&o.help)
	case "return-child-result":
		return flags.On(&o.status)
	case "o", "output":
		return flags.Text(&o.keep)
	}
	return o.Flag(name)
}

// assert is `hdb assert`.
func assert(main *options, out, errw io.Writer) int {
	o, err := parseAssertFlags(main.words[1:])
	if err != nil {
		return fail(errw, err, exitUsage)
	}
	if o.help {
		return printText(out, errw, assertUsage)
	}
	o.status = o.status || main.returnChildResult
	if err := o.Ready(); err != nil {
		return fail(errw, fmt.Errorf("%w: %w", err, errAssertUsage), exitUsage)
	}
	if err := cmp.Or(o.Known(), o.Vacant(o.capture)); err != nil {
		return fail(errw, err, exitTarget)
	}
	if len(o.words) == 0 {
		return o.check(o.capture, nil, out, errw)
	}
	path, remove, err := o.place()
	if err != nil {
		return fail(errw, err, exitTarget)
	}
	defer remove()
	ended, code := o.record(path, errw)
	if ended == nil {
		return code
	}
	verdict := o.check(path, ended, errw, errw)
	if code == desk.ExitFailed && !decides(verdict) { // the recording failed
		return code
	}
	return verdict
}

// decides tells an exit code that no other failure replaces.
func decides(code int) bool { return code == desk.ExitAssertion || code == desk.ExitUndecided }

// place is where the program is recorded to; remove is called at the end.
func (o *assertOptions) place() (path string, remove func(), err error) {
	if o.keep != "" {
		to := o.recording(o.keep).output(o.words[0])
		to.Inputs = append(to.Inputs, o.Against, o.Suppressions)
		return o.keep, func() {}, to.Check()
	}
	dir, err := os.MkdirTemp("", "hdb-assert-")
	if err != nil {
		return "", nil, fmt.Errorf("assert: %w: set TMPDIR to another directory, or keep the recording with -o FILE", err)
	}
	return filepath.Join(dir, "assert.hdb"), func() { os.RemoveAll(dir) }, nil
}

// recording is how the program is recorded.
func (o *assertOptions) recording(path string) *recordOptions {
	return &recordOptions{file: path, force: o.Force, quiet: true, words: o.words, walks: o.Limits.NoLeaks}
}

// record records the program to its end. Without one there is an exit code that says
// why. With one it is 1 when the file could not be written: what is in it is checked.
func (o *assertOptions) record(path string, errw io.Writer) (*inferior.ExitStatus, int) {
	r := newRecorder(o.recording(path), errw)
	code := r.run(nil)
	r.signals.stop()
	o.Limits.Lost = r.lost
	lost := r.s.Recorder.Err() != nil && r.s.Recorder.Failure() == nil
	err := r.s.Close()
	r.withdraw()
	if err != nil {
		return nil, fail(errw, err, 1)
	}
	if r.forks > 0 {
		warn(errw, fmt.Sprintf("%d children of %s were not recorded, and are in none of the numbers", r.forks, r.name()))
	}
	switch {
	case r.ended != nil && (code == 0 || code == desk.ExitSignal || lost):
		return r.ended, code
	case code == 0:
		return nil, fail(errw, errors.New("assert: the recording did not last to the end of the program"), 1)
	}
	return nil, code
}

// check checks the capture, of a program that was recorded for that when ended is
// not nil.
func (o *assertOptions) check(path string, ended *inferior.ExitStatus, out, errw io.Writer) (code int) {
	s := session.New(target.Config{Version: version(), Cache: cache(), Notify: func(line string) { warn(errw, line) }})
	defer func() {
		if err := s.Close(); err != nil && code == 0 {
			code = fail(errw, err, 1)
		}
	}()
	if _, err := s.Captures.OpenWhole(path); err != nil {
		return fail(errw, err, exitTarget)
	}
	outcome, err := o.Check(context.Background(), s)
	if err != nil {
		return fail(errw, err, exitUsage)
	}
	failed := ""
	if ended != nil && (ended.Signal != 0 || ended.Code != 0) {
		failed = filepath.Base(o.words[0]) + ": " + ended.String()
	}
	lost := 0
	for _, err := range []error{o.printOutcome(out, outcome, failed), o.Files(s, outcome, failed)} {
		if err != nil {
			lost = fail(errw, err, desk.ExitFailed)
		}
	}
	switch {
	case outcome.Err() != nil:
		return outcome.ExitCode()
	case lost != 0:
		return lost
	case ended == nil:
		return 0
	case o.status && ended.Signal != 0:
		return 128 + ended.Signal
	case o.status:
		return ended.Code
	case ended.Signal != 0:
		return desk.ExitSignal
	case ended.Code != 0:
		return desk.ExitFailed
	}
	return 0
}

// printOutcome prints the verdicts, what should be known of the recording, and how the
// program failed if it has.
func (o *assertOptions) printOutcome(out io.Writer, outcome *allocs.Outcome, failed string) error {
	w := bufio.NewWriter(out)
	err := report.WriteVerdicts(w, outcome.Profile, outcome.Verdicts, o.StackForm())
	w.WriteString(outcome.Suppressed.Text())
	for _, line := range outcome.Warnings() {
		fmt.Fprintf(w, "warning: %s\n", screen.Clean(line))
	}
	err = cmp.Or(err, o.Annotate(w, outcome))
	if outcome.Err() != nil && o.StackForm() == report.NoStacks {
		fmt.Fprintf(w, "next: %s\n", screen.Clean(o.next()))
	}
	if failed != "" {
		fmt.Fprintf(w, "FAILED program: %s\n", screen.Clean(failed))
	}
	return cmp.Or(err, w.Flush())
}

// next says how to look further.
func (o *assertOptions) next() string {
	if kept := cmp.Or(o.capture, o.keep); kept != "" {
		kept = shellWord(kept)
		return fmt.Sprintf("--stacks shows the stacks; hdb open %s, hdb leaks %s and hdb flamegraph %s show more", kept, kept, kept)
	}
	return "--stacks shows the stacks; -o FILE keeps the recording, for hdb open, hdb leaks and hdb flamegraph"
}
