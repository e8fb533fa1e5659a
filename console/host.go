package console

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hdb/capture"
	"hdb/console/allocs"
	"hdb/console/data"
	"hdb/console/desk"
	"hdb/console/shell"
	"hdb/names"
	"hdb/session"
	"hdb/session/target"
	"hdb/session/variables"
)

// withAdvice adds the next step to an error that knows no commands.
func withAdvice(err error) error {
	if errors.Is(err, names.ErrNoFiles) {
		return fmt.Errorf("%w: bt, allocs and list know what it kept", err)
	}
	return err
}

// checkNeed reports whether the session is what a command works on.
func checkNeed(s *session.Session, need shell.Need) error {
	mode := target.Empty
	if s != nil {
		mode = s.Mode()
	}
	if need == shell.NeedValues {
		if mode == target.Saved {
			return variables.ErrCaptureValues
		}
		need = shell.NeedMemory
	}
	if need == shell.NeedObjects {
		if mode == target.Saved {
			return variables.ErrCaptureObjects
		}
		need = shell.NeedMemory
	}
	switch {
	case (need == shell.NeedProgram || need == shell.NeedRunnable) && mode == target.Empty:
		return target.ErrNoProgram
	case (need == shell.NeedLive || need == shell.NeedMemory || need == shell.NeedRunnable) && mode == target.Saved:
		return target.ErrSaved
	case (need == shell.NeedLive || need == shell.NeedRecord || need == shell.NeedPast) && mode == target.Core:
		return s.Runs()
	case need == shell.NeedLive && mode != target.Live, need == shell.NeedMemory && !mode.Readable(),
		(need == shell.NeedData || need == shell.NeedRecord) && !mode.Readable() && (s == nil || !s.Recalled()),
		need == shell.NeedPast && mode != target.Live && (s == nil || !s.Travel.HasPast()):
		return target.ErrNotRunning
	}
	return nil
}

// A host makes a Desk a shell.Host.
type host struct {
	*desk.Desk
	unwritten error // of the recording, that was reported last
}

// Check tells why a command with a need cannot run, nil: it can.
func (h *host) Check(need shell.Need) error { return checkNeed(h.Session, need) }

// Advise adds the next step to an error that knows no commands.
func (h *host) Advise(err error) error { return withAdvice(err) }

// Failed has an error decide the exit code.
func (h *host) Failed(err error) { h.Exit.Failed(err) }

// Lost tells that a recording cannot be written any more, once.
func (h *host) Lost() error {
	err := h.Session.Recorder.Err()
	if err == nil || err == h.unwritten {
		return nil
	}
	h.unwritten = err
	return fmt.Errorf("record: %w: the recording has ended; what was written before can be queried and saved", err)
}

// BeforePrompt asks whether debuginfod's servers may be asked.
func (h *host) BeforePrompt() { data.AskDebuginfod(h.Desk) }

// Interrupt stops the program.
func (h *host) Interrupt() error { return h.Session.Interrupt() }

// Going reports whether the program runs.
func (h *host) Going() bool { return h.Session.Going() }

// Alongside makes the session's goroutine call f while the program runs.
func (h *host) Alongside(f func()) { h.Session.Alongside(f) }

// KeepTerminal has the terminal stay hdb's while the program runs.
func (h *host) KeepTerminal(keep bool) { h.Session.KeepTerminal(keep) }

// StepsTaken counts the program's single steps.
func (h *host) StepsTaken() func() uint64 { return h.Session.Execution.StepsTaken() }

// Within bounds what is read of the program and its recording.
func (h *host) Within(r *capture.Reading) (restore func()) {
	before := h.Session.Within(r)
	return func() { h.Session.Within(before) }
}

// Moment has the console log begin a new moment.
func (h *host) Moment() { h.Session.ConsoleLog.Moment() }

// Logged keeps a line of the conversation.
func (h *host) Logged(line string, typed bool) { h.Session.ConsoleLog.Add(line, typed) }

// Assign changes a variable of the program or one of the debugger's, as set var and set $NAME do. done
// is false if a line asks for neither.
func (h *host) Assign(text string) (done bool, err error) {
	if word, expr := shell.SplitWord(text); word == "var" || word == "variable" {
		return true, h.Eval.SetVar(expr)
	}
	if !strings.HasPrefix(text, "$") { // a convenience variable, or a register
		return false, nil
	}
	if err := h.Session.Values.Set(text); err != nil {
		return true, fmt.Errorf("set: %w", err)
	}
	return true, nil
}

// ShowVariables prints the debugger's variables.
func (h *host) ShowVariables(in shell.Input) error { return h.Eval.ShowConveniences(in) }

// Holds reports whether an expression is true.
func (h *host) Holds(expr string) (bool, error) { return h.Session.Values.Holds(expr) }

// History prints the recorded events about an address.
func (h *host) History(ctx context.Context, in shell.Input) error {
	return allocs.BlockHistory(ctx, h.Desk, in)
}
