package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"hdb/capture/edit"
	"hdb/capture/file"
	"hdb/console/allocs"
	"hdb/console/screen"
	"hdb/internal/flags"
	"hdb/internal/outfile"
	"hdb/internal/spelling"
	"hdb/internal/units"
	"hdb/query"
	"hdb/report"
	"hdb/session"
	"hdb/session/target"
)

const captureUsage = `hdb capture inspects, checks and converts captures. It never changes a file: results
are new files.

usage:
  hdb capture info [--json] CAPTURE      what it contains, and how many bytes each part takes
  hdb capture info --log [--json] CAPTURE
                                         what was typed and printed while it was made
  hdb capture check CAPTURE...           read all of it; report what is damaged or wrong, and
                                         for a file that was not closed, up to which event
                                         it is complete
  hdb capture repair CAPTURE -o OUT      write a valid capture with everything that can be read
  hdb capture trim CAPTURE [--from M] [--to M] -o OUT
                                         the events between two moments, as goto takes
                                         them: #N, N%, a time, peak, start, end, stopN, a mark
  hdb capture merge CAPTURE CAPTURE... -o OUT
                                         combine recordings of one program, run in sequence
                                         or in parallel, into one
  hdb capture anonymize CAPTURE [--keep-functions] -o OUT
                                         replace the names of programs, arguments, hosts,
                                         threads, files and functions, and remove
                                         sources and the console's log

  -o FILE                                the new capture
  -f, --force                            replace FILE

trim: both moments are in the result; events keep their numbers and times. As after an
attach, blocks allocated before the first of these events are unknown: their frees are
kept, but match no block.

merge: the captures must be of one program (the same file name or build ID) and one
architecture. Events are renumbered in the order of their times. The live heap is the
sum of the live heaps of all processes, including those that have ended, so that leaks still
show. To keep the processes distinct, the second has 0x0100000000000000 added to its
addresses, the third twice that, and so on; the names of threads end with the process
ID. Blocks that disappeared at an exec are shown as freed by a call of "execve".

anonymize: names of allocators and of runtimes, such as malloc, stay, so that
reports give the same numbers. Line numbers, sizes,
addresses, times, thread and process IDs and the date stay. The same capture always
gets the same made-up names.

exit codes: 0 done, 1 damaged or not closed (check), or failed, 2 usage, 4 no such
capture, or OUT cannot be made
`

// captureOptions are the words behind hdb capture VERB.
type captureOptions struct {
	verb              string
	files             []string
	out               string
	from, to          query.Moment
	json, force, help bool
	log               bool
	keepFunctions     bool
}

var errCapture = errors.New("see hdb capture --help")

func parseCaptureFlags(words []string) (*captureOptions, error) {
	o := &captureOptions{}
	rest, err := flags.All(words, o.flag)
	if err != nil {
		return nil, fmt.Errorf("capture: %w: %w", err, errCapture)
	}
	if len(rest) > 0 {
		o.verb, o.files = rest[0], rest[1:]
	}
	return o, o.check()
}

func (o *captureOptions) flag(name string) flags.Flag {
	switch name {
	case "json":
		return flags.On(&o.json)
	case "f", "force":
		return flags.On(&o.force)
	case "h", "help":
		return flags.On(&o.help)
	case "log":
		return flags.On(&o.log)
	case "keep-functions":
		return flags.On(&o.keepFunctions)
	case "o", "output":
		return flags.Text(&o.out)
	case "from":
		return allocs.MomentFlag(&o.from)
	case "to":
		return allocs.MomentFlag(&o.to)
	}
	return flags.Flag{}
}

// captureFlags are the flags that a verb takes besides -o and -f.
func captureFlags(verb string) (names []string, ok bool) {
	switch verb {
	case "info":
		return []string{"json", "log"}, true
	case "trim":
		return []string{"from", "to"}, true
	case "anonymize":
		return []string{"keep-functions"}, true
	case "check", "repair", "merge":
		return nil, true
	}
	return nil, false
}

// check finds what makes no sense.
func (o *captureOptions) check() error {
	if o.help {
		return nil
	}
	known, ok := captureFlags(o.verb)
	writes := o.verb != "info" && o.verb != "check"
	takes := func(name string, given bool) bool { return !given || slices.Contains(known, name) }
	switch {
	case o.verb == "":
		return fmt.Errorf("capture: a verb must follow: %w", errCapture)
	case !ok:
		if near := spelling.Nearest(o.verb, captureVerbs); near != "" {
			return fmt.Errorf("capture: %q: no such verb: did you mean %s?: %w", o.verb, near, errCapture)
		}
		return fmt.Errorf("capture: %q: no such verb: %w", o.verb, errCapture)
	case !takes("json", o.json), !takes("log", o.log), !takes("from", !o.from.IsPresent()), !takes("to", !o.to.IsPresent()), !takes("keep-functions", o.keepFunctions), !writes && o.out != "":
		return fmt.Errorf("capture %s: a flag of another verb: %w", o.verb, errCapture)
	case len(o.files) == 0:
		return fmt.Errorf("capture %s: a capture must follow: %w", o.verb, errCapture)
	case o.verb == "merge" && len(o.files) < 2:
		return fmt.Errorf("capture merge: two captures at least must follow: %w", errCapture)
	case o.verb != "merge" && o.verb != "check" && len(o.files) > 1:
		return fmt.Errorf("capture %s: one capture must follow: %w", o.verb, errCapture)
	case o.verb == "trim" && o.from.IsPresent() && o.to.IsPresent():
		return fmt.Errorf("capture trim: --from or --to is missing: %w", errCapture)
	case writes && o.out == "":
		return fmt.Errorf("capture %s: -o FILE is missing: %w", o.verb, errCapture)
	}
	return nil
}

// captures is `hdb capture`.
func captures(main *options, out, errw io.Writer) int {
	o, err := parseCaptureFlags(main.words[1:])
	if err != nil {
		return fail(errw, err, exitUsage)
	}
	if o.help {
		return printText(out, errw, captureUsage)
	}
	var text strings.Builder
	switch o.verb {
	case "info":
		code := captureInfo(o.files[0], o.json || main.json, o.log, &text, errw)
		return max(code, printText(out, errw, text.String()))
	case "check":
		code := captureCheck(o.files, &text, errw)
		return max(code, printText(out, errw, text.String()))
	}
	return o.write(errw)
}

// write makes the new capture.
func (o *captureOptions) write(errw io.Writer) int {
	to := outfile.File{Path: o.out, Force: o.force, Inputs: o.files}
	if err := to.Check(); err != nil {
		return fail(errw, err, exitTarget)
	}
	var files []*file.File
	for _, path := range o.files {
		f, err := file.OpenWhole(path)
		if err != nil {
			return fail(errw, err, exitTarget)
		}
		defer f.Close()
		if d := f.Damage(); d != nil && o.verb != "repair" {
			warn(errw, d.Error())
		}
		careful := report.CaveatsOf(f)
		careful.Damage = nil // told
		for _, line := range careful.Lines() {
			warn(errw, path+": "+line)
		}
		files = append(files, f)
	}
	tool, err := o.tool(files, errw)
	if err != nil {
		return fail(errw, err, 1)
	}
	var made edit.Copied
	err = to.Write(func(w io.Writer) (err error) {
		made, err = tool(w)
		return err
	})
	if err != nil {
		return fail(errw, fmt.Errorf("capture %s: %w", o.verb, err), 1)
	}
	o.tell(errw, files[0], made)
	return 0
}

// tool is what makes the new capture.
func (o *captureOptions) tool(files []*file.File, errw io.Writer) (func(io.Writer) (edit.Copied, error), error) {
	switch o.verb {
	case "trim":
		from, to, err := o.span(errw)
		return func(w io.Writer) (edit.Copied, error) { return edit.Trim(w, files[0], from, to) }, err
	case "merge":
		return func(w io.Writer) (edit.Copied, error) { return edit.Merge(w, files) }, nil
	case "anonymize":
		a := edit.Anonymity{KeepFunctions: o.keepFunctions, Function: query.PublicFunction, File: query.PublicFile, Module: query.PublicModule}
		return func(w io.Writer) (edit.Copied, error) { return edit.Anonymize(w, files[0], a) }, nil
	}
	return func(w io.Writer) (edit.Copied, error) { return edit.Repair(w, files[0]) }, nil
}

// span are the events that trim begins and ends with.
func (o *captureOptions) span(errw io.Writer) (from, to uint64, err error) {
	s := session.New(target.Config{Version: version(), Cache: cache(), Notify: func(string) {}}) // damage was reported
	defer func() { err = errors.Join(err, s.Close()) }()
	if _, err := s.Captures.OpenWhole(o.files[0]); err != nil {
		return 0, 0, err
	}
	to = math.MaxUint64
	if !o.from.IsPresent() {
		p, err := s.Queries.FromMoment(o.from)
		if err != nil {
			return 0, 0, fmt.Errorf("--from: %w", err)
		}
		from = p.Seq
	}
	if !o.to.IsPresent() {
		p, err := s.Queries.MomentOf(o.to)
		if err != nil {
			return 0, 0, fmt.Errorf("--to: %w", err)
		}
		to = p.Seq
	}
	return from, to, nil
}

// tell says what the new capture has, and what it has not.
func (o *captureOptions) tell(errw io.Writer, f *file.File, made edit.Copied) {
	line := fmt.Sprintf("%s: %s", o.out, units.Count(made.Events, "event"))
	if st, err := os.Stat(o.out); err == nil {
		line += ", " + units.Short(st.Size())
	}
	switch {
	case made.Lost > 0:
		line += "; " + atLeast(made.Open, units.Count(made.Lost, "event")+" lost")
	case made.Open:
		line += "; events at the end may be missing"
	}
	if made.Older > 0 {
		line += fmt.Sprintf("; %s freed whose allocation is not in it", units.Count(made.Older, "block"))
	}
	fmt.Fprintln(errw, screen.Clean(line))
	if o.verb == "repair" {
		for _, l := range lostParts(f) {
			fmt.Fprintf(errw, "  %s\n", screen.Clean(l))
		}
	}
}

// captureVerbs are the words that may follow hdb capture.
var captureVerbs = []string{"anonymize", "check", "info", "merge", "repair", "trim"}
