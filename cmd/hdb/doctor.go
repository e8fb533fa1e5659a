package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"hdb/console"
	"hdb/internal/flags"
	"hdb/internal/regular"
	"hdb/names"
	"hdb/session"
)

// exitMissing is the exit code of hdb doctor when something is missing in a module
// that matters.
const exitMissing = 3

const doctorUsage = `usage: hdb doctor [flags] PROG | PID | CAPTURE

Tells for each module where its names come from (DWARF, a symbol table, minidebuginfo,
dynamic symbols, nothing), where debug files were looked for, and what would bring
more: the package to install, the server to ask, the flag of the compiler. Of a
capture also what share of the recorded frames is in each module. A process goes on
undisturbed. A file whose name is a number is ./4711.

flags:
  --json                       one JSON object
  --sysroot DIR                directory that stands for / when files are read
  --debug-file-directory DIRS  where debug files are looked for, colon between them
  --debuginfod                 ask the servers of DEBUGINFOD_URLS, too, and wait for the
                               files; --no-debuginfod, the default, does not

exit codes: 0 nothing is missing where frames are (in any module, without recorded
frames), 1 cannot print, 2 usage, 3 something is missing, 4 no such program,
process or capture
`

// doctorOptions are the words behind hdb doctor.
type doctorOptions struct {
	json, help bool
	debuginfod bool
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
		return nil, fmt.Errorf("doctor: %q: one program, process or capture is looked at: %w", words[1], errDoctor)
	case len(words) == 1:
		o.target = words[0]
	case !o.help:
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
		if err := console.PrintCheckup(out, &check, o.json); err != nil {
			return 1, err
		}
		if !check.Good() {
			return exitMissing, nil
		}
		return 0, nil
	})
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
