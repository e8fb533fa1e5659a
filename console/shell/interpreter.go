package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"hdb/capture"
	"hdb/internal/flags"
	"hdb/internal/lazyregexp"
)

// An interpreter runs lines: commands of the table, definitions and aliases of the user's,
// and the commands of stops. It knows where lines come from.
type interpreter struct {
	c       *Shell
	aliases map[string]string
	defined map[string]*definition

	sources []lineSource    // where lines come from, innermost last
	hooks   []*scriptSource // commands of the stop just reported, not yet run: a list for each breakpoint
	hooking bool            // the hooks are being run
	depth   int             // nested definitions and scripts

	last    repetition // what an empty line does
	running string     // the full name of the command that runs or ran last
	quit    bool

	stopSteps func() // stops telling how many single steps the innermost command has led to; may be called again
}

// top runs one line as the user's own: it can be interrupted, its error is
// printed, and the commands of the stop it led to run after it.
func (r *interpreter) top(line string) {
	r.perform(line, func(ctx context.Context) error { return r.execute(ctx, line) })
}

// perform does what a line of the outermost level asks for.
func (r *interpreter) perform(line string, do func(context.Context) error) {
	if r.c.sig.terminated() {
		r.quit = true
		return
	}
	ctx, done := r.c.sig.command()
	defer done()
	defer func(running string, hooks []*scriptSource) { r.running, r.hooks = running, hooks }(r.running, r.hooks) // of a command in the background
	r.c.Layout()
	r.c.Out.Begin()
	logTyped(r.c, line)
	r.running = ""
	err := do(ctx)
	if err == nil {
		err = r.runHooks(ctx)
	}
	r.hooks = nil
	if err != nil {
		r.c.Fail(err)
	}
	r.c.noteUnwritten()
	r.c.host.Moment()
	r.quit = r.quit || r.c.ending()
}

// execute runs one line: a comment, a definition or a command of the table.
func (r *interpreter) execute(ctx context.Context, line string) error {
	if err := ctx.Err(); err != nil {
		return ErrInterrupted
	}
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return nil
	}
	line, err := r.expandAlias(line)
	if err != nil {
		return err
	}
	word, rest := commandWord(line)
	if def := r.defined[word]; def != nil {
		return r.runDefinition(ctx, def, rest)
	}
	cmd, rest, name, err := r.c.Table.Resolve(line)
	if err != nil {
		return err
	}
	return r.runCommand(ctx, cmd, Input{Raw: strings.TrimSpace(rest), Name: name})
}

// runCommand checks what the command needs, and runs it.
func (r *interpreter) runCommand(ctx context.Context, cmd *Command, in Input) error {
	if err := r.c.Bg.refused(cmd, in); errors.Is(err, errDeferred) {
		return nil
	} else if err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	if cmd.Resumes && strings.HasSuffix(in.Raw, "&") {
		return fmt.Errorf("%s: & works only on lines that are typed, piped or given by -ex", in.Name)
	}
	r.running = in.Name
	if cmd.Resumes {
		r.c.Notices.Uncover()
	}
	if err := r.c.host.Check(cmd.Needs); err != nil {
		return err
	}
	if !cmd.Raw {
		args, err := SplitArgs(in.Raw)
		if err != nil {
			return err
		}
		in.Args = args
		if len(args) > 0 && cmd.Synopsis == "" && len(cmd.Sub) == 0 {
			return fmt.Errorf("%s: %q: it takes no arguments", in.Name, in.Raw)
		}
	}
	in.Repeated = r.last.running
	defer paged(r.c, cmd)()
	reading, done := r.read(ctx)
	defer done()
	err := cmd.Run(ctx, in)
	if reading.Cut() != nil {
		return ErrInterrupted
	}
	if word := strayFlag(cmd, in); word != "" && err != nil && !errors.Is(err, ErrInterrupted) && !strings.Contains(err.Error(), word+": ") {
		err = fmt.Errorf("%s: %s: %w", in.Name, word, flags.ErrUnknown)
	}
	if errors.Is(err, flags.ErrUnknown) {
		err = fmt.Errorf("%w: see help %s", err, in.Name)
	}
	return r.c.host.Advise(err)
}

// strayFlag is the first flag among the words of a command that has no flags, or "". The command may have taken it for
// something else, or have found fault with another word because of it.
func strayFlag(cmd *Command, in Input) string {
	words := in.Args
	switch {
	case cmd.Group == GroupFiles || flagInText().MatchString(cmd.Synopsis):
		return ""
	case cmd.Raw:
		if slices.ContainsFunc(cmd.Args, func(k ArgKind) bool { return k != ArgSince && k != ArgMoment && k != ArgCondition }) || len(cmd.Args) == 0 {
			return "" // an expression, a place or a program may have a dash
		}
		words = strings.Fields(in.Raw)
	}
	for _, w := range words {
		if w == "if" {
			break
		}
		if name, _, _ := strings.Cut(w, "="); flagInText().MatchString(w) && !strings.Contains(cmd.Long, name) {
			return w
		}
	}
	return ""
}

// flagInText finds a flag: unlike a negative number, it has a letter behind its dashes.
var flagInText = lazyregexp.New(`(^|[\s\[|(])--?[a-zA-Z]`)

// read bounds what a command reads and prints by its context, and shows how far it
// is when that takes long. Of single steps only the innermost of nested commands tells.
func (r *interpreter) read(ctx context.Context) (*capture.Reading, func()) {
	reading := capture.NewReading(ctx)
	within, restore := r.c.host.Within(reading), r.c.Out.Until(reading.GivenUp)
	stop := showReading(r.c, reading)
	if r.stopSteps != nil {
		r.stopSteps()
	}
	stopSteps := sync.OnceFunc(showSteps(r.c))
	r.stopSteps = stopSteps
	return reading, func() {
		stop()
		stopSteps()
		restore()
		within()
	}
}

// A repetition is what an empty line does after a command.
type repetition struct {
	line    string // "" nothing
	running bool   // it is being repeated now
}

// repeated turns a typed line into the one to run.
func (r *interpreter) repeated(line string) string {
	r.last.running = false
	if strings.TrimSpace(line) == "" {
		r.last.running = r.last.line != ""
		return r.last.line
	}
	r.last.line = ""
	full, err := r.expandAlias(strings.TrimSpace(line))
	if err != nil || full[0] == '#' {
		return line
	}
	if word, _ := commandWord(full); r.defined[word] != nil {
		r.last.line = line
		return line
	}
	cmd, _, name, err := r.c.Table.Resolve(full)
	if err != nil {
		return line
	}
	switch cmd.Repeat {
	case RepeatSame:
		r.last.line = line
	case RepeatNext:
		r.last.line = name
	}
	return line
}
