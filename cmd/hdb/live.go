package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"hdb/console"
	"hdb/console/line"
	"hdb/console/shell"
	"hdb/inferior"
	"hdb/internal/flags"
	"hdb/internal/outfile"
	"hdb/session"
	"hdb/session/target"
)

const liveUsage = `hdb live shows what a program allocates while it runs: a screen with a row for each
function, updated every second.

usage:
  hdb live [flags] PROG [ARGS...]
  hdb live [flags] -p PID

flags, with one dash or two:
  -o FILE, --output FILE   write PROG's standard output and error to FILE; by default
                           they are discarded, because hdb needs the screen
  -i FILE, --input FILE    PROG's standard input; by default empty
  -nx                      read no configuration and no project file
  --return-child-result    exit with PROG's own status, 128+N for signal N

own is what a function allocated itself, total what all stacks through it allocated.
The functions shown are those that blocks belong to, as in top, and their callers.
Keys: 1 live, 2 bytes, 3 count, 4 temporary choose the measure, s the order (own,
total, change, rate, name), / filters by function, file and module, Esc removes the
filter; space freezes the screen, t shows rows for each thread; arrows, PgUp, PgDn, Home
and End move; Ctrl-L repaints; q quits.

q kills a program that hdb started, unless the configuration has set kill-on-exit off;
a process attached with -p runs on. When the program has ended, the screen stays until q. PROG has
no controlling terminal.

exit codes: 0 shown, whatever PROG's own status, 1 failed later, 2 usage, or no
terminal, 4 cannot begin: no such program or process, 5 PROG was killed by a signal
`

// liveOptions are the command line of hdb live.
type liveOptions struct {
	output, input string
	pid           int
	noInit        bool
	status        bool // --return-child-result
	help          bool
	words         []string
}

var errLiveUsage = errors.New("see hdb live --help")

func parseLiveFlags(argv []string) (*liveOptions, error) {
	o := &liveOptions{}
	var err error
	if o.words, err = flags.Program(argv, o.flag); err != nil {
		return nil, fmt.Errorf("%w: %w", err, errLiveUsage)
	}
	switch {
	case o.help:
	case o.pid != 0 && len(o.words) > 0:
		return nil, fmt.Errorf("live: -p PID and a program: %w", errLiveUsage)
	case o.pid == 0 && len(o.words) == 0:
		return nil, fmt.Errorf("live: PROG or -p PID is missing: %w", errLiveUsage)
	case o.pid != 0 && (o.output != "" || o.input != ""):
		return nil, fmt.Errorf("live: -i and -o are for a program that hdb starts, not for -p: %w", errLiveUsage)
	}
	return o, nil
}

func (o *liveOptions) flag(name string) flags.Flag {
	switch name {
	case "nx", "n":
		return flags.On(&o.noInit)
	case "return-child-result":
		return flags.On(&o.status)
	case "h", "help":
		return flags.On(&o.help)
	case "q", "quiet", "silent": // as in other recordings; there is nothing to leave out
		return flags.On(new(bool))
	case "o", "output":
		return flags.Text(&o.output)
	case "i", "input":
		return flags.Text(&o.input)
	case "p", "pid":
		return pidFlag(&o.pid)
	}
	return flags.Flag{}
}

// live is `hdb live`.
func live(all *options, in *os.File, out, errw io.Writer) int {
	if err := all.askLive(); err != nil {
		return fail(errw, err, exitUsage)
	} else if all.asked != "" {
		return converse(all, in, out, errw)
	}
	o, err := parseLiveFlags(all.words[1:])
	if err != nil {
		return fail(errw, err, exitUsage)
	}
	if o.help {
		return printText(out, errw, liveUsage)
	}
	if o.output != "" { // which the program writes, as with a shell's >
		if err := (outfile.File{Path: o.output, Force: true, Inputs: []string{o.words[0], o.input}}).Check(); err != nil {
			return fail(errw, err, exitTarget)
		}
	}
	var c *console.Console
	s := session.New(target.Config{
		Version: version(), Guard: guardCommand(), Cache: cache(), Notify: func(line string) { c.Notify(line) },
		DropsTyped: line.DropsTyped(in),
		Signal:     func(*inferior.Signal) {}, // they all pass, and none is worth a line
	})
	defer s.Close() // the console does; this is for a panic
	if o.pid == 0 {
		o.words = interpreted(o.words)
		if _, err := s.Load(o.words[0]); err != nil {
			return fail(errw, err, exitTarget)
		}
	}
	cfg := console.Config{
		Options: shell.Options{Out: out, Err: errw, Version: version(), Batch: all.batch, JSON: all.json},
		Session: s, NoInit: o.noInit || all.noInit,
		ReturnChildResult: o.status || all.returnChildResult,
	}
	cfg.In = line.NewReader(in, os.Stdout)
	defer cfg.In.Close()
	c = console.New(cfg)
	return c.Live(func() error { return o.begin(s, all) })
}

// begin brings the program or process under the session, which records.
func (o *liveOptions) begin(s *session.Session, all *options) error {
	for _, sig := range s.Catches.Signals() {
		if err := s.Catches.HandleSignal(sig.Name, inferior.Policy{Pass: true}); err != nil {
			return err
		}
	}
	if o.pid == 0 { // again, with debug files from where the config files say
		if _, err := s.Load(o.words[0]); err != nil {
			return err
		}
	}
	if err := s.Recorder.Start(); err != nil {
		return err
	}
	if o.pid != 0 {
		_, err := s.Attach(o.pid)
		return err
	}
	files := []string{"/dev/null", "/dev/null"}
	for i, name := range []string{o.input, o.output} {
		if name != "" {
			files[i] = name
		}
	}
	args := quoteArgs(o.words[1:]) + " < " + quoteArgs(files[:1]) + " > " + quoteArgs(files[1:]) + " 2>&1"
	s.Settings.Apart, s.Settings.Dir = true, all.dir
	_, err := s.StartInstruction(&args)
	return err
}
