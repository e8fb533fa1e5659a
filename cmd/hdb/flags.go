package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"hdb/console"
)

// options are the command line. gdb's spelling: one dash or two, and a value
// either in the next word or behind an equals sign.
type options struct {
	startup           []console.Startup
	batch, noInit     bool
	quiet, json, echo bool
	returnChildResult bool
	version, help     bool
	docs              bool
	pid               int
	args              bool // --args: what follows is the program and its arguments
	tty, dir          string
	words             []string // what is not a flag
}

// errUsage is the cause of exit code 2.
var errUsage = errors.New("see hdb --help")

// parseFlags reads flags up to the first word that is none: the program, whose
// arguments are its own.
func parseFlags(argv []string) (*options, error) {
	o := &options{}
	for i := 0; i < len(argv); i++ {
		word := argv[i]
		if word == "--" {
			o.words = argv[i+1:]
			return o, nil
		}
		if len(word) < 2 || word[0] != '-' {
			o.words = argv[i:]
			return o, nil
		}
		name, value, inline := strings.Cut(strings.TrimPrefix(word[1:], "-"), "=")
		if set := o.boolean(name); set != nil {
			if inline {
				return nil, fmt.Errorf("%s: takes no value: %w", word, errUsage)
			}
			*set = true
			if name == "args" {
				o.words = argv[i+1:]
				return o, nil
			}
			continue
		}
		if !takesValue(name) {
			return nil, fmt.Errorf("%s: no such flag: %w", word, errUsage)
		}
		if !inline {
			i++
			if i == len(argv) {
				return nil, fmt.Errorf("%s: value missing: %w", word, errUsage)
			}
			value = argv[i]
		}
		if err := o.valued(name, value); err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
	}
	return o, nil
}

// records tells that the command line is one of hdb record. It takes flags for
// itself behind the word.
func (o *options) records() bool { return o.command("record") }

// command tells that the command line is one of hdb WORD.
func (o *options) command(word string) bool {
	return !o.args && o.pid == 0 && len(o.words) > 0 && o.words[0] == word
}

func (o *options) boolean(name string) *bool {
	switch name {
	case "batch":
		return &o.batch
	case "nx", "n":
		return &o.noInit
	case "q", "quiet", "silent":
		return &o.quiet
	case "json":
		return &o.json
	case "echo":
		return &o.echo
	case "return-child-result":
		return &o.returnChildResult
	case "version", "v":
		return &o.version
	case "help", "h":
		return &o.help
	case "args":
		return &o.args
	case "docs":
		return &o.docs
	}
	return nil
}

func takesValue(name string) bool {
	switch name {
	case "x", "command", "ex", "eval-command", "p", "pid", "cd", "tty", "t":
		return true
	}
	return false
}

func (o *options) valued(name, value string) error {
	switch name {
	case "x", "command":
		o.startup = append(o.startup, console.Startup{Text: value, File: true})
	case "ex", "eval-command":
		o.startup = append(o.startup, console.Startup{Text: value})
	case "p", "pid":
		return o.setPID(value)
	case "cd":
		o.dir = value
	case "tty", "t":
		o.tty = value
	}
	return nil
}

func (o *options) setPID(s string) error {
	pid, err := strconv.Atoi(s)
	if err != nil || pid <= 0 {
		return fmt.Errorf("%q is not a process ID: %w", s, errUsage)
	}
	o.pid = pid
	return nil
}
