package main

import (
	"errors"
	"fmt"
	"strconv"

	"hdb/console/shell"
	"hdb/internal/flags"
)

// options are the command line. gdb's spelling: one dash or two, and a value
// either in the next word or behind an equals sign.
type options struct {
	early, startup    []shell.Startup
	batch             bool
	noInit, noHome    bool
	tui               bool
	core              string // the core file of -c
	quiet, json, echo bool
	returnChildResult bool
	version, help     bool
	docs              bool
	manual            string // the directory that manual pages are written to
	pid               int
	args              bool // --args: what follows is the program and its arguments
	tty, dir          string
	words             []string // what is not a flag
	finish            bool     // the program is recorded, and runs to its end
	asked             string   // the capture that a command of startup is about
}

// errUsage is the cause of exit code 2.
var errUsage = errors.New("see hdb --help")

// parseFlags reads flags up to the first word that is none: the program, whose
// arguments are its own.
func parseFlags(argv []string) (*options, error) {
	o := &options{}
	for len(argv) > 0 && !o.args && flags.Is(argv[0]) {
		if argv[0] == "--" {
			argv = argv[1:]
			break
		}
		var err error
		if argv, err = flags.Next(argv, o.flag); err != nil {
			return nil, fmt.Errorf("%w: %w", err, errUsage)
		}
	}
	o.words = argv
	return o, nil
}

// command tells that the command line is one of hdb WORD.
func (o *options) command(word string) bool {
	return !o.args && o.pid == 0 && len(o.words) > 0 && o.words[0] == word
}

func (o *options) flag(name string) flags.Flag {
	switch name {
	case "batch":
		return flags.On(&o.batch)
	case "nx", "n":
		return flags.On(&o.noInit)
	case "nh":
		return flags.On(&o.noHome)
	case "tui":
		return flags.On(&o.tui)
	case "c", "core":
		return flags.NonEmpty(&o.core)
	case "d", "directory":
		return flags.Value(func(dir string) error {
			o.early = append(o.early, shell.Startup{Text: "directory " + shellWord(dir)})
			return nil
		})
	case "q", "quiet", "silent":
		return flags.On(&o.quiet)
	case "json":
		return flags.On(&o.json)
	case "echo":
		return flags.On(&o.echo)
	case "return-child-result":
		return flags.On(&o.returnChildResult)
	case "version", "v":
		return flags.On(&o.version)
	case "help", "h":
		return flags.On(&o.help)
	case "args":
		return flags.On(&o.args)
	case "docs":
		return flags.On(&o.docs)
	case "manual":
		return flags.Text(&o.manual)
	case "x", "command":
		return startupFlag(&o.startup, true)
	case "ex", "eval-command":
		return startupFlag(&o.startup, false)
	case "ix", "init-command":
		return startupFlag(&o.early, true)
	case "iex", "init-eval-command":
		return startupFlag(&o.early, false)
	case "p", "pid":
		return flags.Value(o.setPID)
	case "cd":
		return flags.Text(&o.dir)
	case "tty", "t":
		return flags.Text(&o.tty)
	}
	return flags.Flag{}
}

func startupFlag(to *[]shell.Startup, file bool) flags.Flag {
	return flags.Value(func(text string) error {
		*to = append(*to, shell.Startup{Text: text, File: file})
		return nil
	})
}

func (o *options) setPID(s string) error {
	pid, err := strconv.Atoi(s)
	if err != nil || pid <= 0 {
		return fmt.Errorf("%q is not a process ID", s)
	}
	o.pid = pid
	return nil
}
