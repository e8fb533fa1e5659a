package stops

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"hdb/breakpoints"
	"hdb/console/desk"
	"hdb/console/line"
	"hdb/inferior"
	"hdb/internal/outfile"
	"hdb/internal/units"
	"hdb/session"
)

// SaveStops writes the stops as commands for source.
func SaveStops(c *desk.Desk, words []string) error {
	files, force, err := desk.ParseSave("save breakpoints", words)
	if err != nil {
		return err
	}
	if len(files) != 1 {
		return errors.New("save breakpoints: one file must follow")
	}
	lines, n := stopLines(c.Session)
	if n == 0 {
		return errors.New("save breakpoints: nothing to save")
	}
	path := line.ExpandHome(files[0])
	err = outfile.File{Path: path, Force: force}.Write(func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
		return err
	})
	if err != nil {
		return fmt.Errorf("save breakpoints: %w", err)
	}
	c.Say("saved %s to %s: `source` reads them back", units.Count(n, "stop"), path)
	return nil
}

// stopLines are the commands that make what stops the program once more, and how many they
// make.
func stopLines(s *session.Session) (lines []string, n int) {
	for _, st := range s.Stops.All() {
		if st.Kind == breakpoints.StopWatch {
			continue // below: they need a process
		}
		lines = append(lines, makeStop(st))
		lines = append(lines, finishStop(st, "")...)
		n++
	}
	for _, st := range s.Stops.All() {
		if st.Kind != breakpoints.StopWatch {
			continue
		}
		size, kind := s.Stops.Watched(st)
		verb := map[inferior.WatchKind]string{inferior.Write: "watch", inferior.Read: "rwatch", inferior.ReadWrite: "awatch"}[kind]
		command := fmt.Sprintf("%s %s %d", verb, st.Location, size)
		if st.Cond != nil {
			command += " if " + strings.TrimSpace(st.Cond.Source())
		}
		lines = append(lines, "if $_pid", "  "+command)
		lines = append(lines, finishStop(st, "  ")...)
		lines = append(lines, "else", "  echo left out, as it needs a process: "+strings.ReplaceAll(command, `\`, `\\`)+`\n`, "end")
		n++
	}
	for _, line := range signalLines(s) {
		lines, n = append(lines, line), n+1
	}
	for _, x := range s.Stepping.Skips.All() {
		what := "function " + x.Function
		if x.File != "" {
			what = "file " + x.File
		}
		lines, n = append(lines, "skip "+what), n+1
		if !x.Enabled {
			lines = append(lines, "skip disable "+what)
		}
	}
	return lines, n
}

// makeStop is the command that makes a stop which needs no process.
func makeStop(st *breakpoints.Stop) string {
	switch {
	case st.Print != nil:
		return fmt.Sprintf("dprintf %s,%s", st.Spec, st.Print)
	case st.Trace:
		return "trace " + st.Spec.String()
	}
	verb := "break "
	if st.Kind == breakpoints.StopPython && st.Temporary {
		return "py tbreak " + st.Spec.String()
	} else if st.Kind == breakpoints.StopPython {
		return "py break " + st.Spec.String()
	}
	spec := st.Spec
	if st.Caught != "" {
		spec.Location = st.Event()
	}
	if st.Caught != "" || st.Occurs() {
		verb = "catch "
	}
	if st.Hardware {
		verb = "h" + verb
	}
	if st.Temporary {
		verb = "t" + verb
	}
	return verb + spec.String()
}

// finishStop are the commands that give the last stop what else a stop has.
func finishStop(st *breakpoints.Stop, indent string) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, indent+fmt.Sprintf(format, args...)) }
	if st.Temporary && (st.GoesOn() || st.Kind == breakpoints.StopWatch) { // others have a verb for that
		add("enable delete $bpnum")
	}
	if st.Left > 0 {
		add("enable count %d $bpnum", st.Left)
	}
	if st.Ignore > 0 {
		add("ignore $bpnum %d", st.Ignore)
	}
	if st.Silent || len(st.Commands) > 0 {
		add("commands")
		if st.Silent {
			add("  silent")
		}
		for _, line := range st.Commands {
			add("  %s", line)
		}
		add("end")
	}
	if !st.Enabled {
		add("disable $bpnum")
	}
	return lines
}

// signalLines are the commands for what handle has set.
func signalLines(s *session.Session) []string {
	var lines []string
	word := func(on bool, what string) string {
		if on {
			return " " + what
		}
		return " no" + what
	}
	defaults := inferior.DefaultSignals()
	for i, row := range s.Catches.Signals() {
		if row != defaults[i] {
			lines = append(lines, "handle "+row.Name+word(row.Print, "print")+word(row.Stop, "stop")+word(row.Pass, "pass"))
		}
	}
	return lines
}
