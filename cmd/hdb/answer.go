package main

import (
	"fmt"
	"io"
	"slices"

	"hdb/console/screen"
	"hdb/session"
	"hdb/session/target"
)

// What the verbs share that answer from a capture, or from a program that is not run.

// wantsHelp tells that a verb is asked how it is used.
func wantsHelp(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return w == "--help" || w == "-help" || w == "-h" })
}

// printText prints text that answers a command line, and returns the exit code.
func printText(out, errw io.Writer, text string) int {
	if _, err := io.WriteString(out, text); err != nil {
		return fail(errw, err, 1)
	}
	return 0
}

// oneCapture is the only word that may be left behind a verb's flags; err is what was
// wrong with these.
func oneCapture(verb string, rest []string, err error) (string, error) {
	if err == nil && len(rest) != 1 {
		err = fmt.Errorf("%s: one capture must follow", verb)
	}
	if err != nil {
		return "", fmt.Errorf("%w: see hdb %s --help", err, verb)
	}
	return rest[0], nil
}

// inSession has a verb answer in a session without a console, which prints its notices on errw. It
// returns the exit code that the verb says, its error's if it has one.
func inSession(errw io.Writer, verb func(s *session.Session) (int, error)) (code int) {
	s := session.New(target.Config{Version: version(), Cache: cache(), Notify: func(line string) {
		fmt.Fprintln(errw, screen.Clean(line))
	}})
	defer func() {
		if err := s.Close(); err != nil && code == 0 {
			code = fail(errw, err, 1)
		}
	}()
	code, err := verb(s)
	if err != nil {
		return fail(errw, err, code)
	}
	return code
}

// withCapture is inSession for a verb that asks a capture.
func withCapture(path string, errw io.Writer, verb func(s *session.Session) error) int {
	return inSession(errw, func(s *session.Session) (int, error) {
		if _, err := s.Captures.OpenWhole(path); err != nil {
			return exitTarget, err
		}
		if err := verb(s); err != nil {
			return 1, err
		}
		return 0, nil
	})
}
