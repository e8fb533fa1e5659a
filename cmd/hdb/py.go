package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"hdb/console/py"
	"hdb/internal/flags"
	"hdb/session"
	"hdb/session/cpython"
)

const pyUsage = `usage: hdb py [flags] PID
       hdb py [flags] [PROG] CORE

Shows the Python stacks of all threads of a program in CPython 3.8 to 3.13: functions
with their files, lines and source. They are read from memory: nothing runs in the
process, your script needs no changes, and no debug information is needed. The process
is stopped while its frames are read, for a few milliseconds, and then runs on
unchanged. If a file's name is a number, give it as ./4711.

flags:
  --locals   the variables of each function, too
  --native   the native frames, too, with the interpreter's replaced by the Python
             functions; the process is then stopped until they are found
  --json     one JSON object

examples:
  hdb py 4711
  hdb py --locals 4711
  hdb py --native core.4711

exit codes: 0 all is printed, 1 cannot print, 2 usage, 4 no such process or core file,
or there is no CPython in it
`

var errPy = errors.New("see hdb py --help")

// pyOptions are the words behind hdb py.
type pyOptions struct {
	json, help bool
	wants      cpython.SnapshotWants
	words      []string
}

func (o *pyOptions) flag(name string) flags.Flag {
	switch name {
	case "json":
		return flags.On(&o.json)
	case "locals":
		return flags.On(&o.wants.Locals)
	case "native":
		return flags.On(&o.wants.Native)
	case "help", "h":
		return flags.On(&o.help)
	}
	return flags.Flag{}
}

// showPython tells what the threads of a process or of a core file do in Python.
func showPython(main *options, out, errw io.Writer) int {
	o := &pyOptions{json: main.json}
	words, err := flags.All(main.words[1:], o.flag)
	switch {
	case err != nil:
		return fail(errw, fmt.Errorf("py: %w: %w", err, errPy), exitUsage)
	case o.help:
		return printText(out, errw, pyUsage)
	case len(words) == 0:
		return fail(errw, fmt.Errorf("py: a process or a core file must follow: %w", errPy), exitUsage)
	case len(words) > 2:
		return fail(errw, fmt.Errorf("py: %q: only one process or core file expected: %w", words[2], errPy), exitUsage)
	}
	o.words = words
	return inSession(errw, func(s *session.Session) (int, error) {
		snapshot, err := o.take(s)
		if err != nil {
			return exitTarget, fmt.Errorf("py: %w", err)
		}
		if err := py.PrintPython(out, snapshot, o.json); err != nil {
			return 1, err
		}
		return 0, nil
	})
}

// take reads what the words name.
func (o *pyOptions) take(s *session.Session) (*cpython.Snapshot, error) {
	pid, err := strconv.Atoi(o.words[0])
	switch {
	case len(o.words) == 2:
		return o.core(s, o.words[1], o.words[0])
	case err != nil:
		return o.core(s, o.words[0], "")
	case !o.wants.Native:
		return s.Python.Process(pid, o.wants)
	}
	begun := time.Now()
	if _, err := s.Attach(pid); err != nil {
		return nil, err
	}
	snapshot, err := s.Python.All(o.wants)
	_, failed := s.Detach()
	if err = errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	snapshot.PID, snapshot.Stopped = pid, time.Since(begun)
	return snapshot, nil
}

func (o *pyOptions) core(s *session.Session, core, program string) (*cpython.Snapshot, error) {
	if _, _, err := s.Cores.Open(core, program); err != nil {
		return nil, err
	}
	snapshot, err := s.Python.All(o.wants)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", core, err)
	}
	return snapshot, nil
}
