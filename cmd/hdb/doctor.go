package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"hdb/console"
	"hdb/inferior/machine"
	"hdb/internal/flags"
	"hdb/internal/regular"
	"hdb/names"
	"hdb/session"
)

// exitMissing is the exit code of hdb doctor when something is missing in a module
// that matters.
const exitMissing = 3

const doctorUsage = `usage: hdb doctor [flags] [PROG | PID | CAPTURE]

Shows for each module where its names come from (DWARF, a symbol table, minidebuginfo,
dynamic symbols, nothing), where hdb searched for debug files, and how to get more: the
package to install, the server to ask, the compiler flag. For a capture also which
share of the recorded frames is in each module. A process runs on undisturbed. If a
file's name is a number, give it as ./4711.

Without a target it checks the machine: it tries each optional feature of the
processor, kernel and container, and shows which work and what hdb does without the
others. With a program or process, missing features are listed after the modules.

flags:
  --json                       one JSON object
  --sysroot DIR                directory used as / when files are read
  --debug-file-directory DIRS  where to search for debug files, separated by colons
  --debuginfod                 ask the servers of DEBUGINFOD_URLS, too, and wait for the
                               files; --no-debuginfod, the default, does not
  --machine                    after the modules, all facts about the machine

environment:
  HDB_WITHOUT                  features that hdb must not use, as if the machine did not
                               have them, separated by commas: fsgsbase, debugregs, xsave, tsc,
                               pagemapscan, hugepages, unfiltered, userns, perf

exit codes: 0 nothing is missing (checked: modules with recorded frames; all modules if
there are no frames; without a target, the features that hdb uses), 1 cannot print,
2 usage, 3 something is missing, 4 no such program, process or capture. With a target,
missing machine features do not affect the exit code.
`

// doctorOptions are the words behind hdb doctor.
type doctorOptions struct {
	json, help bool
	debuginfod bool
	machine    bool // all of it
	sysroot    string
	debugDirs  string
	target     string
}

func parseDoctorFlags(argv []string) (*doctorOptions, error) {
	o := &doctorOptions{}
	words, err := flags.All(argv, o.flag)
	switch {
	case err != nil:
		return nil, fmt.Errorf("doctor: %w: %w", err, errDoctor)
	case len(words) > 1:
		return nil, fmt.Errorf("doctor: %q: only one program, process or capture expected: %w", words[1], errDoctor)
	case len(words) == 1:
		o.target = words[0]
	case !o.help && (o.debuginfod || o.sysroot != "" || o.debugDirs != ""):
		return nil, fmt.Errorf("doctor: a program, process or capture must follow: %w", errDoctor)
	}
	return o, nil
}

func (o *doctorOptions) flag(name string) flags.Flag {
	switch name {
	case "json":
		return flags.On(&o.json)
	case "debuginfod":
		return flags.On(&o.debuginfod)
	case "no-debuginfod":
		return flags.Off(&o.debuginfod)
	case "machine":
		return flags.On(&o.machine)
	case "help", "h":
		return flags.On(&o.help)
	case "sysroot":
		return flags.Text(&o.sysroot)
	case "debug-file-directory":
		return flags.Text(&o.debugDirs)
	}
	return flags.Flag{}
}

var errDoctor = errors.New("see hdb doctor --help")

// doctor tells what is missing of names and lines, and how to get it.
func doctor(main *options, out, errw io.Writer) int {
	o, err := parseDoctorFlags(main.words[1:])
	if err != nil {
		return fail(errw, err, exitUsage)
	}
	o.json = o.json || main.json
	if o.help {
		return printText(out, errw, doctorUsage)
	}
	if o.target == "" {
		return doctorOfMachine(o, out, errw)
	}
	return inSession(errw, func(s *session.Session) (int, error) {
		s.Settings.Sysroot = o.sysroot
		if o.debugDirs != "" {
			s.Settings.DebugDirs = filepath.SplitList(o.debugDirs)
		}
		if o.debuginfod {
			s.Symbols.SetDebuginfod(names.DebuginfodOn)
			if len(s.Names().Debuginfod.Servers()) == 0 {
				return exitUsage, errNoServers
			}
		}
		check, err := checkup(s, o.target)
		if err != nil {
			return exitTarget, err
		}
		if err := console.PrintDoctor(out, console.Doctor{Names: &check, Machine: o.findings()}, o.json); err != nil {
			return 1, err
		}
		if !check.Good() {
			return exitMissing, nil
		}
		return 0, nil
	})
}

// doctorOfMachine checks the machine alone.
func doctorOfMachine(o *doctorOptions, out, errw io.Writer) int {
	all := machine.All()
	if err := console.PrintDoctor(out, console.Doctor{Machine: all}, o.json); err != nil {
		return fail(errw, err, 1)
	}
	if slices.ContainsFunc(all, func(f machine.Finding) bool { return f.Missing() }) {
		return exitMissing
	}
	return 0
}

// findings are what is said of the machine in addition to a target: what hdb lacks, which of a
// capture says nothing, or all.
func (o *doctorOptions) findings() []machine.Finding {
	if !o.machine && isCapture(o.target) {
		return nil
	}
	all := machine.All()
	if o.machine {
		return all
	}
	return slices.DeleteFunc(all, func(f machine.Finding) bool { return !f.Missing() })
}

// checkup looks at what the word names.
func checkup(s *session.Session, target string) (names.Checkup, error) {
	if pid, err := strconv.Atoi(target); err == nil && pid > 0 {
		return s.Symbols.CheckProcess(pid)
	}
	if isCapture(target) {
		if _, err := s.Captures.Open(target); err != nil {
			return names.Checkup{}, err
		}
	} else if _, err := s.Load(target); err != nil {
		return names.Checkup{}, err
	}
	return s.Symbols.Checkup()
}

// isCapture tells captures from programs by their first bytes.
func isCapture(path string) bool {
	const magic = "\x89hdb"
	f, _, err := regular.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	first := make([]byte, len(magic))
	_, err = io.ReadFull(f, first)
	return err == nil && string(first) == magic
}
