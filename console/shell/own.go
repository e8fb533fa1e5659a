package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"hdb/console/line"
	"hdb/console/screen"
)

// Words are the shell's own commands: help, scripts, definitions, settings and the user's shell.
func (c *Shell) Words() []*Command {
	return append(supportWords(c), scriptWords(c)...)
}

func supportWords(c *Shell) []*Command {
	return []*Command{
		{Name: "help", Aliases: []string{"h"}, Group: GroupSupport, While: RunsAlongside, Synopsis: "[COMMAND | GROUP | TOPIC | all]", Raw: true,
			Short: "explain a command or a topic, or list a group of commands, or all", Args: []ArgKind{ArgHelp}, Repeat: RepeatNone, Run: c.does(runHelp),
			Long: "Examples:\n  help\n  help break\n  help info line\n  help allocations\n  help conditions"},
		{Name: "apropos", Group: GroupSupport, While: RunsAlongside, Synopsis: "WORD", Raw: true, Short: "find commands and settings whose help contains a word",
			Repeat: RepeatNone, Run: c.does(runApropos), Long: "Example:\n  apropos condition"},
		{Name: "complete", Group: GroupSupport, While: RunsAlongside, Synopsis: "LINE", Raw: true, Short: "print what Tab would offer at the end of a line",
			Repeat: RepeatNone, Run: c.does(runComplete), Long: "Example:\n  complete info sha"},
		{Name: "source", Group: GroupSupport, Synopsis: "FILE", Short: "run the commands of a file", Args: []ArgKind{ArgFile}, Run: c.does(runSource),
			Repeat: RepeatNone,
			Long:   "hdb stops reading the file at its first error, and reports the line number; this includes errors in files that it sources, in your own commands and in the `commands` of a stop. `-x FILE` does the same; -ex and standard input continue with their next command. After any such error the exit code is 1. Questions are answered with yes. Lines that begin with # are comments.\n\nExample:\n  source setup.hdb"},
		{Name: "define", Group: GroupSupport, Synopsis: "NAME", Short: "make a command of your own from the lines up to `end`",
			Repeat: RepeatNone, Run: c.does(runDefine),
			Long: "In its lines, $arg0, $arg1 ... are replaced by its arguments, $args by all of them as typed, $argc by their number.\n\nExample:\n  define big\n    allocs if size >= $arg0\n  end\n  big 1MiB"},
		{Name: "document", Group: GroupSupport, Synopsis: "NAME", Short: "give your own command a help text, the lines up to `end`",
			Args: []ArgKind{ArgCommand}, Repeat: RepeatNone, Run: c.does(runDocument), Long: "Example:\n  document big\n    List the allocations of at least this size.\n  end"},
		{Name: "alias", Group: GroupSupport, While: RunsAlongside, Synopsis: "\nNAME = COMMAND [ARGS...]", Raw: true,
			Short: "list the aliases, or define a short word for the beginning of a line", Repeat: RepeatNone, Run: c.does(runAlias),
			Long: "Example:\n  alias ba = break alloc\n  ba if size > 64k"},
		{Name: "unalias", Group: GroupSupport, While: RunsAlongside, Synopsis: "NAME", Short: "remove an alias", Repeat: RepeatNone, Run: c.does(runUnalias), Long: "Example:\n  unalias ba"},
		{Name: "shell", Aliases: []string{"!"}, Group: GroupSupport, While: RunsAlongside, Synopsis: "[COMMAND]", Raw: true,
			Short: "run a shell command, or a shell", Repeat: RepeatNone, Run: c.does(runShell), Long: "Example:\n  !ls -l"},
		{Name: "pipe", Aliases: []string{"|"}, Group: GroupSupport, Synopsis: "COMMAND | SHELL COMMAND\n-d DELIMITER COMMAND DELIMITER SHELL COMMAND", Raw: true,
			Short: "pipe a command's output to a shell command", Run: c.does(runPipe), Args: []ArgKind{ArgCommand},
			Long: "The first | that is not part of || divides the two; -d names another divider.\n\nExamples:\n  pipe allocs | sort -k3 | head\n  | bt | grep parse"},
		{Name: "echo", Group: GroupSupport, While: RunsAlongside, Synopsis: "TEXT", Raw: true, Short: `print text; \n is a newline, a final \ suppresses the one at the end`,
			Repeat: RepeatNone, Run: c.does(runEcho), Long: "Example:\n  echo the next allocation:"},
		{Name: "set", Group: GroupSupport, Synopsis: "NAME VALUE\nvar ASSIGNMENT\n$NAME = EXPRESSION", Raw: true, Short: "change a setting, a variable of the program, or a variable of hdb", Args: []ArgKind{ArgSetting, ArgValue},
			Repeat: RepeatNone, Run: c.does(runSet), Long: "`show` lists the settings; `config -save` keeps them for later sessions. `help variables` explains $NAME.\n\nExamples:\n  set listsize 20\n  set var list->used = 0\n  set $i = 0\n  set args -v input.txt > out.txt\n  set environment LD_LIBRARY_PATH=/opt/lib\n  set substitute-path /build /home/me/src"},
		{Name: "unset", Group: GroupSupport, Synopsis: "NAME\nenvironment VARIABLE\nsubstitute-path [FROM]", Raw: true,
			Short: "reset a setting to its default", Args: []ArgKind{ArgSetting}, Repeat: RepeatNone, Run: c.does(runUnset),
			Long: "`unset environment` removes the variable from the next run's environment.\n\nExample:\n  unset environment DISPLAY"},
		{Name: "show", Group: GroupSupport, While: RunsAlongside, Synopsis: "[NAME]\nversion\nconvenience", Raw: true, Short: "print one setting, or all",
			Args: []ArgKind{ArgSetting}, Repeat: RepeatNone, Run: c.does(runShow), Long: "`show convenience` prints the variables whose names begin with $.\n\nExamples:\n  show listsize\n  show convenience"},
		{Name: "config", Group: GroupSupport, Synopsis: "-list\n-save\nNAME VALUE", Raw: true, Short: "list the settings, keep them, or change one",
			Args: []ArgKind{ArgSetting, ArgValue}, Repeat: RepeatNone, Run: c.does(runConfig),
			Long: "-save writes $XDG_CONFIG_HOME/hdb/config, a file of commands that each session runs first, before a program is loaded, unless hdb is started with -nx. A file that belongs to another user, or that others may write, is not run, and -save does not replace a file that was not run.\n\nExample:\n  config -save"},
		{Name: "with", Group: GroupSupport, Synopsis: "SETTING VALUE -- COMMAND", Raw: true, Short: "run one command with a setting changed",
			Args: []ArgKind{ArgSetting, ArgValue}, Run: c.does(runWith), Long: "Example:\n  with listsize 40 -- list main"},
		{Name: "trust", Group: GroupSupport, Synopsis: "\nDIRECTORY", Short: "list the directories whose .hdb file is read, or add one",
			Args: []ArgKind{ArgFile}, Repeat: RepeatNone, Run: c.does(runTrust),
			Long: "A .hdb file in the working directory is a list of commands for its project. It can run anything, so hdb reads it only if you have trusted it and it has not changed since: if its content, owner or mode has changed, it is not read until you trust it again. It must belong to you or to root, and must not be writable by others. Files that it sources are not checked.\n\nExample:\n  trust ."},
		{Name: "history", Group: GroupSupport, While: RunsAlongside, Raw: true, Synopsis: "[N]\nADDRESS [N | all]", Short: "list the last typed lines, or the recorded events of an address", Repeat: RepeatNone, Run: c.does(runHistory),
			Long: "Lines that begin with a blank are not kept. Ctrl-R searches the history.\n\nExample:\n  history 20"},
	}
}

func runHelp(_ context.Context, c *Shell, in Input) error { return c.showHelp(in.Raw) }

func runApropos(_ context.Context, c *Shell, in Input) error {
	if in.Raw == "" {
		return errors.New("apropos: a word must follow")
	}
	c.apropos(in.Raw)
	return nil
}

func runComplete(_ context.Context, c *Shell, in Input) error {
	start, words := c.Completions(in.Raw)
	for _, w := range words {
		c.Out.Printf("%s%s\n", in.Raw[:start], w)
	}
	return nil
}

func runSource(ctx context.Context, c *Shell, in Input) error {
	if len(in.Args) != 1 {
		return errors.New("source: one file must follow")
	}
	return c.interp.sourceFile(ctx, line.ExpandHome(in.Args[0]))
}

func runDefine(_ context.Context, c *Shell, in Input) error {
	name := in.Arg(0)
	if word, rest := commandWord(name); len(in.Args) != 1 || word != name || rest != "" {
		return errors.New("define: one name must follow, of letters, digits, - and _")
	}
	lines, err := c.interp.readBlock()
	if err != nil {
		return fmt.Errorf("define %s: %w", name, err)
	}
	if c.Table.has(name) {
		return fmt.Errorf("define: %s is a command of hdb: choose another name", name)
	}
	c.interp.defined[name] = &definition{name: name, lines: lines}
	return nil
}

func runDocument(_ context.Context, c *Shell, in Input) error {
	lines, err := c.interp.readLines(true)
	if err != nil {
		return fmt.Errorf("document: %w", err)
	}
	def := c.interp.defined[in.Arg(0)]
	if def == nil {
		return fmt.Errorf("document: no command %q of yours: use define first", in.Arg(0))
	}
	def.doc = lines
	return nil
}

func runAlias(_ context.Context, c *Shell, in Input) error {
	if in.Raw == "" {
		for _, name := range slices.Sorted(maps.Keys(c.interp.aliases)) {
			c.Out.Printf("alias %s = %s\n", name, c.interp.aliases[name])
		}
		return nil
	}
	name, full, ok := strings.Cut(in.Raw, "=")
	name, full = strings.TrimSpace(name), strings.TrimSpace(full)
	if word, _ := commandWord(name); !ok || word != name || name == "" || full == "" {
		return errors.New("alias: NAME = COMMAND expected")
	}
	if c.Table.has(name) {
		return fmt.Errorf("alias: %s is a command of hdb: choose another name", name)
	}
	word, _ := commandWord(full)
	if _, err := c.Table.find(c.Table.Commands, word, "command"); err != nil && c.interp.aliases[word] == "" && c.interp.defined[word] == nil {
		return fmt.Errorf("alias: %w", err)
	}
	c.interp.aliases[name] = full
	return nil
}

func runUnalias(_ context.Context, c *Shell, in Input) error {
	if _, ok := c.interp.aliases[in.Arg(0)]; !ok {
		return fmt.Errorf("unalias: no alias %q", in.Arg(0))
	}
	delete(c.interp.aliases, in.Arg(0))
	return nil
}

func runShell(ctx context.Context, c *Shell, in Input) error {
	run := func(ctx context.Context) error {
		cmd := c.userShell(ctx, in.Raw)
		cmd.Stdin = os.Stdin
		if err := Aside(cmd.Run); err != nil {
			return fmt.Errorf("shell: %w", err)
		}
		return nil
	}
	if c.Bg.apart(run) {
		return nil
	}
	return run(ctx)
}

func runPipe(ctx context.Context, c *Shell, in Input) error {
	line, shell, err := splitPipe(in.Raw)
	if err != nil {
		return err
	}
	cmd := c.userShell(ctx, shell)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	if err := Aside(cmd.Start); err != nil {
		return fmt.Errorf("pipe: %w", err)
	}
	err = c.PrintingTo(&screen.Output{W: stdin, Width: c.Out.Width, Names: c.Out.Names, Sizes: c.Out.Sizes}, func() error { return c.interp.execute(ctx, line) })
	closeErr := stdin.Close()
	if errors.Is(closeErr, os.ErrClosed) || errors.Is(closeErr, io.ErrClosedPipe) {
		closeErr = nil
	}
	if waitErr := Aside(cmd.Wait); err == nil && waitErr != nil {
		err = fmt.Errorf("pipe: %w", waitErr)
	}
	return errors.Join(err, closeErr)
}

// splitPipe divides COMMAND | SHELL at the first | that is not one of ||.
func splitPipe(s string) (line, shell string, err error) {
	if rest, ok := strings.CutPrefix(s, "-d "); ok {
		delim, rest := SplitWord(rest)
		line, shell, ok = strings.Cut(rest, " "+delim+" ")
		if !ok {
			return "", "", fmt.Errorf("pipe: no divider %q after the command", delim)
		}
		return strings.TrimSpace(line), strings.TrimSpace(shell), nil
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '|' {
			continue
		}
		if i+1 < len(s) && s[i+1] == '|' {
			i++
			continue
		}
		line, shell = strings.TrimSpace(s[:i]), strings.TrimSpace(s[i+1:])
		break
	}
	if line == "" || shell == "" {
		return "", "", errors.New("pipe: COMMAND | SHELL COMMAND expected")
	}
	return line, shell, nil
}

func runEcho(_ context.Context, c *Shell, in Input) error {
	text, noNewline := strings.CutSuffix(in.Raw, `\`)
	text = strings.NewReplacer(`\n`, "\n", `\t`, "    ", `\\`, `\`, `\"`, `"`).Replace(text)
	if !noNewline && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	c.Out.Text(text)
	return nil
}

func runSet(_ context.Context, c *Shell, in Input) error {
	if done, err := c.host.Assign(in.Raw); done {
		return err
	}
	s, value, err := c.Set.find(in.Raw)
	if err != nil {
		return err
	}
	return c.Set.assign(s, strings.TrimPrefix(value, "= "))
}

func runUnset(_ context.Context, c *Shell, in Input) error { return c.Set.unset(in.Raw) }

type settingView struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func runShow(_ context.Context, c *Shell, in Input) error {
	if in.Raw == "version" {
		c.Out.Printf("hdb %s\n", c.Opt.Version)
		return nil
	}
	if in.Raw == "" {
		return c.showSettings(in)
	}
	if len(in.Raw) >= len("conv") && strings.HasPrefix("convenience", in.Raw) {
		return c.host.ShowVariables(in)
	}
	s, _, err := c.Set.find(in.Raw)
	if err != nil {
		return err
	}
	v := settingView{s.Name, c.Set.current(s)}
	c.Show(in, v, func(o *screen.Output) {
		if v.Value == "" {
			o.Printf("%s is not set: %s\n", v.Name, s.Help)
			return
		}
		o.Printf("%s is %s\n", v.Name, v.Value)
	})
	return nil
}

func (c *Shell) showSettings(in Input) error {
	var views []settingView
	var rows [][]screen.Span
	for _, s := range c.Set.Table {
		views = append(views, settingView{s.Name, c.Set.current(s)})
		rows = append(rows, []screen.Span{screen.Func(s.Name), screen.Plain(c.Set.current(s)), screen.Guess(s.Help)})
	}
	c.Show(in, struct {
		Settings []settingView `json:"settings"`
	}{views}, func(o *screen.Output) {
		o.Table([]screen.Column{{Head: "setting"}, {Head: "value"}, {Head: "meaning"}}, rows)
	})
	return nil
}

func runConfig(ctx context.Context, c *Shell, in Input) error {
	switch in.Raw {
	case "", "-list":
		return c.showSettings(in)
	case "-save":
		path, err := saveConfig(c)
		if err != nil {
			return err
		}
		c.Say("saved %s", path)
		return nil
	}
	return runSet(ctx, c, in)
}

func runWith(ctx context.Context, c *Shell, in Input) error {
	set, line, ok := strings.Cut(in.Raw, "-- ")
	if !ok {
		return errors.New("with: SETTING VALUE -- COMMAND expected")
	}
	s, value, err := c.Set.find(strings.TrimSpace(set))
	if err != nil {
		return err
	}
	old := c.Set.current(s)
	if err := c.Set.assign(s, value); err != nil {
		return err
	}
	err = c.interp.execute(ctx, line)
	return errors.Join(err, c.Set.assign(s, old))
}

func runHistory(ctx context.Context, c *Shell, in Input) error {
	n := len(c.Hist.Lines)
	if in.Raw != "" {
		v, err := strconv.Atoi(strings.TrimSpace(in.Raw))
		if err != nil { // an address: 0x..., $rdi, an expression
			return c.host.History(ctx, in)
		}
		if v < 0 {
			return fmt.Errorf("history: %q: a number of lines expected", in.Raw)
		}
		n = min(n, v)
	}
	for _, line := range c.Hist.Lines[len(c.Hist.Lines)-n:] {
		c.Out.Printf("  %s\n", line)
	}
	return nil
}

// does has a command call a function of the shell.
func (c *Shell) does(f func(ctx context.Context, c *Shell, in Input) error) func(context.Context, Input) error {
	return func(ctx context.Context, in Input) error { return f(ctx, c, in) }
}
