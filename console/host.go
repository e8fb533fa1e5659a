package console

import (
	"errors"
	"fmt"

	"hdb/capture"
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

// checkNeed tells whether the session is what a command works on.
func checkNeed(s *session.Session, need Need) error {
	mode := target.Empty
	if s != nil {
		mode = s.Mode()
	}
	if need == NeedValues {
		if mode == target.Saved {
			return variables.ErrCaptureValues
		}
		need = NeedMemory
	}
	if need == NeedObjects {
		if mode == target.Saved {
			return variables.ErrCaptureObjects
		}
		need = NeedMemory
	}
	switch {
	case (need == NeedProgram || need == NeedRunnable) && mode == target.Empty:
		return target.ErrNoProgram
	case (need == NeedLive || need == NeedMemory || need == NeedRunnable) && mode == target.Saved:
		return target.ErrSaved
	case (need == NeedLive || need == NeedRecord || need == NeedPast) && mode == target.Core:
		return s.Runs()
	case need == NeedLive && mode != target.Live, need == NeedMemory && !mode.Readable(),
		(need == NeedData || need == NeedRecord) && !mode.Readable() && (s == nil || !s.Recalled()),
		need == NeedPast && mode != target.Live && (s == nil || !s.Travel.HasPast()):
		return target.ErrNotRunning
	}
	return nil
}

// The Console is the host of its shell.

// Check tells why a command with a need cannot run, nil: it can.
func (c *Console) Check(need Need) error { return checkNeed(c.s, need) }

// Advise adds the next step to an error that knows no commands.
func (c *Console) Advise(err error) error { return withAdvice(err) }

// Failed has an error decide the exit code.
func (c *Console) Failed(err error) { c.exit.failed(err) }

// Lost tells that a recording cannot be written any more, once.
func (c *Console) Lost() error {
	err := c.s.Recorder.Err()
	if err == nil || err == c.unwritten {
		return nil
	}
	c.unwritten = err
	return fmt.Errorf("record: %w: the recording has ended; what was written before can be asked and saved", err)
}

// BeforePrompt asks whether debuginfod's servers may be asked.
func (c *Console) BeforePrompt() { askDebuginfod(c) }

// Interrupt stops the program.
func (c *Console) Interrupt() error { return c.s.Interrupt() }

// Going reports whether the program runs.
func (c *Console) Going() bool { return c.s.Going() }

// Beside has the session's goroutine call f while the program runs.
func (c *Console) Beside(f func()) { c.s.Beside(f) }

// KeepTerminal has the terminal stay hdb's while the program runs.
func (c *Console) KeepTerminal(keep bool) { c.s.KeepTerminal(keep) }

// StepsTaken counts the program's single steps.
func (c *Console) StepsTaken() func() uint64 { return c.s.Execution.StepsTaken() }

// Within bounds what is read of the program and its recording.
func (c *Console) Within(r *capture.Reading) (restore func()) {
	before := c.s.Within(r)
	return func() { c.s.Within(before) }
}

// Moment has the console log begin a new moment.
func (c *Console) Moment() { c.s.ConsoleLog.Moment() }

// Logged keeps a line of the conversation.
func (c *Console) Logged(line string, typed bool) { c.s.ConsoleLog.Add(line, typed) }
