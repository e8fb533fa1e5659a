package stops

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/query"
	"hdb/session"
	"hdb/session/stepping"
	"hdb/session/stopped"
)

func runningCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "run", Aliases: []string{"r"}, Group: shell.GroupRunning, Resumes: true, Synopsis: "[ARGS...] [< FILE] [> FILE] [2> FILE]", Raw: true,
			Short: "start the program, or start it again", Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone, Needs: shell.NeedRunnable, Run: c.Does(runRun),
			Long: "Arguments are split and quoted as in a shell, but variables and patterns are not expanded; they are kept for the next run (`set args`). Standard input and output can be redirected.\n\nExamples:\n  run\n  run -v input.txt > out.txt 2>&1"},
		{Name: "start", Group: shell.GroupRunning, Resumes: true, Synopsis: "[ARGS...]", Raw: true, Short: "start the program and stop in main",
			Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone, Needs: shell.NeedRunnable, Run: c.Does(starter((*session.Session).Start)),
			Long: "Example:\n  start -v input.txt"},
		{Name: "starti", Group: shell.GroupRunning, Resumes: true, Synopsis: "[ARGS...]", Raw: true, Short: "start the program and stop at its first instruction",
			Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone, Needs: shell.NeedRunnable, Run: c.Does(starter((*session.Session).StartInstruction)),
			Long: "That is the dynamic linker's first instruction in most programs: no library is loaded yet.\n\nExample:\n  starti"},
		{Name: "restart", Group: shell.GroupRunning, Resumes: true, Synopsis: "[ARGS...]", Raw: true, Short: "kill the program and start it again",
			Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone, Needs: shell.NeedRunnable, Run: c.Does(runRun),
			Long: "Example:\n  restart -v other.txt"},
		{Name: "attach", Aliases: []string{"at"}, Group: shell.GroupRunning, Synopsis: "PID", Short: "attach to a running process and stop it", Repeat: shell.RepeatNone, Run: c.Does(RunAttach),
			Long: "`detach` and `quit` let the process run on, unharmed.\n\nExample:\n  attach 4711"},
		{Name: "detach", Group: shell.GroupRunning, While: shell.StopsFirst, Short: "let the process run on without hdb", Needs: shell.NeedLive, Repeat: shell.RepeatNone, Run: c.Does(runDetach)},
		{Name: "kill", Aliases: []string{"k"}, Group: shell.GroupRunning, While: shell.StopsFirst, Short: "end the process", Needs: shell.NeedLive, Repeat: shell.RepeatNone, Run: c.Does(runKill)},
		{Name: "continue", Aliases: []string{"c", "cont", "fg"}, Group: shell.GroupRunning, Resumes: true, Synopsis: "[N] [&]\nLOCATION [&]", Raw: true,
			Short: "run until something stops the program", Args: []shell.ArgKind{shell.ArgLocation}, Needs: shell.NeedRecord, Run: c.Does(runContinue),
			Long: "With N, the next N-1 hits of the current stop are ignored. With a location, the program stops there once. With & the program runs in the background: commands can query the recording, up to the moment of the question, and `interrupt` stops the program. & works after every command that lets the program run, on lines that are typed, piped or given by -ex. If hdb prints while a line is being edited, the cursor moves to the line's end. In a capture, continue moves to the next recorded event that matches an allocation stop, or to the N-th of them.\n\nExamples:\n  continue\n  continue &\n  continue 100\n  continue parse.c:120"},
		{Name: "interrupt", Group: shell.GroupRunning, While: shell.RunsAlongside, Synopsis: "", Short: "stop the program that runs in the background", Repeat: shell.RepeatNone, Run: c.Does(runInterrupt),
			Long: "The program runs in the background after a line that ended with &. hdb reads your next line once the program has stopped.\n\nExample:\n  interrupt"},
		{Name: "wait", Group: shell.GroupRunning, While: shell.RunsAlongside, Synopsis: "", Short: "wait until the program that runs in the background stops", Repeat: shell.RepeatNone, Run: c.Does(runWait),
			Long: "It returns at once if the program has already stopped. Ctrl-C stops the program.\n\nExample:\n  wait"},
		{Name: "step", Aliases: []string{"s"}, Group: shell.GroupRunning, Resumes: true, Synopsis: "[N]", Short: "run to another source line, into functions", Needs: shell.NeedLive,
			Run: c.Does(counted1((*stepping.Steps).Step)), Long: "An inlined call is entered like any other: its line is shown first, and the stack has no frame for it until the next step.\n\nExample:\n  step 3"},
		{Name: "next", Aliases: []string{"n"}, Group: shell.GroupRunning, Resumes: true, Synopsis: "[N]", Short: "run to the next source line, over calls", Needs: shell.NeedLive,
			Run: c.Does(counted1((*stepping.Steps).Next)), Long: "It also steps over inlined calls. When a function returns into the middle of a line, next ends there. When an exception or a longjmp leaves a call, next ends where the program continues; so do nexti, until and advance.\n\nExample:\n  next 3"},
		{Name: "stepi", Aliases: []string{"si"}, Group: shell.GroupRunning, Resumes: true, Synopsis: "[N]", Short: "execute one instruction", Needs: shell.NeedLive,
			Run: c.Does(counted1((*stepping.Steps).StepInstruction)), Long: "Example:\n  stepi"},
		{Name: "nexti", Aliases: []string{"ni"}, Group: shell.GroupRunning, Resumes: true, Synopsis: "[N]", Short: "execute one instruction, over calls", Needs: shell.NeedLive,
			Run: c.Does(counted1((*stepping.Steps).NextInstruction)), Long: "Example:\n  nexti"},
		{Name: "finish", Aliases: []string{"fin", "stepout", "so"}, Group: shell.GroupRunning, Resumes: true, Short: "run until the selected frame's function returns", Needs: shell.NeedLive, Run: c.Does(runFinish),
			Long: "At an allocation the selected frame is the user's; at all other stops it is the innermost one. The returned value is shown and kept as $N, as in print; without debug information it is the register that returns integers and pointers. For a Go function no value is shown. When an exception or a longjmp leaves the function, finish ends where the program continues. It does not finish main: use continue."},
		{Name: "until", Aliases: []string{"u"}, Group: shell.GroupRunning, Resumes: true, Synopsis: "[LOCATION]", Raw: true, Args: []shell.ArgKind{shell.ArgLocation},
			Short: "run to a later line of the frame, or to a location in it", Needs: shell.NeedLive, Run: c.Does(located((*stepping.Steps).Until)),
			Long: "Without a location it is like next, but does not jump back in a loop. It also ends when the function returns.\n\nExample:\n  until 240"},
		{Name: "advance", Aliases: []string{"adv"}, Group: shell.GroupRunning, Resumes: true, Synopsis: "LOCATION", Raw: true, Args: []shell.ArgKind{shell.ArgLocation},
			Short: "run to a location", Needs: shell.NeedLive, Run: c.Does(located((*stepping.Steps).Advance)), Long: "Example:\n  advance index.cc:188"},
		{Name: "jump", Aliases: []string{"j"}, Group: shell.GroupRunning, Resumes: true, Synopsis: "LOCATION", Raw: true, Args: []shell.ArgKind{shell.ArgLocation}, Repeat: shell.RepeatNone,
			Short: "continue at another place", Needs: shell.NeedLive, Run: c.Does(runJump), Long: "The stack and the registers stay as they are, so it asks before it jumps into another function. `jump *ADDRESS` does not skip a prologue.\n\nExample:\n  jump 241"},
		{Name: "return", Aliases: []string{"ret"}, Group: shell.GroupRunning, Synopsis: "[EXPRESSION]", Raw: true, Args: []shell.ArgKind{shell.ArgFunction}, Repeat: shell.RepeatNone,
			Short: "return from the selected frame's function without running the rest of it", Needs: shell.NeedLive, Run: c.Does(runReturn), Long: "The thread then continues after the call, as if the function had returned the value. Nothing more of the function, or of those it called, runs: no destructors, no unlocking.\n\nExample:\n  return -1"},
		{Name: "signal", Group: shell.GroupRunning, Resumes: true, Synopsis: "SIGNAL|0", Args: []shell.ArgKind{shell.ArgSignal}, Repeat: shell.RepeatNone,
			Short: "continue with a signal; 0 discards the one that stopped the program", Needs: shell.NeedLive, Run: c.Does(runSignal), Long: "Examples:\n  signal 0\n  signal SIGUSR1"},
		{Name: "skip", Group: shell.GroupRunning, Synopsis: "[function] [NAME]\nfile [NAME]\ndelete|enable|disable [N | [function] NAME | file NAME]", Raw: true, Args: []shell.ArgKind{shell.ArgFunction}, Repeat: shell.RepeatNone,
			Short: "step over a function, or the functions of a file", Run: c.Does(runSkip), Long: "step then does not enter them. Without a name it skips the function, or the file, of the selected frame. * in a name matches any text. `info skip` lists the skips.\n\nExamples:\n  skip std::*\n  skip file third_party/*"},
	}
}

// arguments are what run and its like were given; nil keeps the last ones.
func arguments(in shell.Input) *string {
	if in.Raw == "" {
		return nil
	}
	return &in.Raw
}

// replaceRun ends a process that is in the way of a new run, after asking.
func replaceRun(c *desk.Desk) (bool, error) {
	pid, _, attached, live := c.Session.Process()
	if !live {
		return true, nil
	}
	if attached {
		return false, fmt.Errorf("attached to process %d: detach or kill it first", pid)
	}
	if !c.Confirm("Kill process %d and start again?", pid) {
		return false, nil
	}
	_, err := c.Session.Kill()
	return err == nil, err
}

func runRun(ctx context.Context, c *desk.Desk, in shell.Input) error {
	return starter((*session.Session).Run)(ctx, c, in)
}

func starter(verb func(*session.Session, *string) (*stopped.Report, error)) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		if ok, err := replaceRun(c); !ok {
			return err
		}
		return desk.Reported(c, in)(verb(c.Session, arguments(in)))
	}
}

func RunAttach(_ context.Context, c *desk.Desk, in shell.Input) error {
	if len(in.Args) != 1 {
		return errors.New("attach: one process ID must follow")
	}
	pid, err := strconv.Atoi(in.Args[0])
	if err != nil || pid <= 0 {
		return fmt.Errorf("attach: %q is not a process ID", in.Args[0])
	}
	r, err := c.Session.Attach(pid)
	if err != nil {
		return err
	}
	if _, exe, _, ok := c.Session.Process(); ok {
		c.Say("attached to process %d: %s", pid, exe)
	}
	c.Report(in, r)
	return nil
}

func runDetach(_ context.Context, c *desk.Desk, _ shell.Input) error {
	pid, err := c.Session.Detach()
	if err != nil {
		return err
	}
	c.Say("detached from process %d", pid)
	return nil
}

func runKill(_ context.Context, c *desk.Desk, _ shell.Input) error {
	if pid, _, _, _ := c.Session.Process(); !c.Confirm("Kill process %d?", pid) {
		return nil
	}
	pid, err := c.Session.Kill()
	if err != nil {
		return err
	}
	c.Say("killed process %d", pid)
	return nil
}

func runContinue(ctx context.Context, c *desk.Desk, in shell.Input) error {
	if c.Session.Recalled() {
		return replayer(query.Forward)(ctx, c, in)
	}
	n, err := strconv.Atoi(in.Raw)
	if count, ok := desk.CountOf(in.Raw); ok {
		n, err = int(count), nil
	}
	switch {
	case in.Raw == "":
		n = 1
	case err != nil:
		return desk.Reported(c, in)(c.Session.Stepping.ContinueTo(in.Raw))
	case n < 1:
		return fmt.Errorf("continue: %d: at least 1", n)
	}
	return desk.Reported(c, in)(c.Session.Execution.Continue(n))
}

func runInterrupt(_ context.Context, c *desk.Desk, _ shell.Input) error { return c.Bg.Interrupt() }

func runWait(_ context.Context, c *desk.Desk, _ shell.Input) error {
	c.Bg.Wait()
	return nil
}

func counted1(verb func(*stepping.Steps, int) (*stopped.Report, error)) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		n, err := desk.Times(in)
		if err != nil {
			return err
		}
		return desk.Reported(c, in)(verb(c.Session.Stepping, n))
	}
}

func located(verb func(*stepping.Steps, string) (*stopped.Report, error)) func(context.Context, *desk.Desk, shell.Input) error {
	return func(_ context.Context, c *desk.Desk, in shell.Input) error {
		return desk.Reported(c, in)(verb(c.Session.Stepping, in.Raw))
	}
}

func runFinish(_ context.Context, c *desk.Desk, in shell.Input) error {
	frame, err := c.Session.Stepping.ToFinish()
	if err != nil {
		return err
	}
	if !c.Opt.JSON {
		c.Out.Line(append([]screen.Span{screen.Plain("run till exit of ")}, desk.FrameName(c.Out, frame)...)...)
	}
	return desk.Reported(c, in)(c.Session.Stepping.Finish())
}
