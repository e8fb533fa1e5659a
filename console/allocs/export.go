package allocs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/flags"
	"hdb/internal/outfile"
	"hdb/internal/units"
	"hdb/query"
	"hdb/report"
	"hdb/session"
)

// ExportCommand is export with a word for each format.
func ExportCommand(c *desk.Desk) *shell.Command {
	cmd := &shell.Command{
		Name: "export", Group: shell.GroupFiles, While: shell.RunsAlongside, Synopsis: "FORMAT [FILE] [--measure MEASURE] [--lines] [--threads] [--thread NAME|TID] [--from MOMENT] [--to MOMENT] [--root DIR] [--force]", Short: "write the recording in the format of another tool", Args: []shell.ArgKind{shell.ArgSub},
		Long: "It counts up to the current moment. Without FILE the result is written next to the capture, or to PROGRAM.PID, with the format's extension. With - as FILE, a text format goes to standard output. An existing file is only replaced with --force; parquet adds to a directory.\n\n" +
			"MEASURE is live (the default), peak, bytes, count, temporary or blocks. Formats with one number per stack have only MEASURE; formats with several have it first. With --lines, collapsed adds the line of each frame, Python or native, to its function, so that stacks of different lines are separate rows. With --threads a stack counts separately for each thread that allocated there: pprof has the thread as a label, the other formats as the outermost frame. With --thread only what threads with that name or TID allocated is written; with --from and --to only what was allocated between two moments (see `goto`), and how much of it was live at the second. With --root, sarif names sources relative to DIR, by default the working directory.\n\nExamples:\n  export pprof\n  export collapsed peak.txt --measure peak --lines\n  export pprof --threads",
	}
	for _, f := range report.Formats() {
		cmd.Sub = append(cmd.Sub, &shell.Command{
			Name: f.Name, Synopsis: "[FILE] [--measure MEASURE] " + placed(f) + partly(f) + "[--root DIR] [--force]", Short: f.Short, Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone,
			Long: fmt.Sprintf("Example:\n  export %s heap%s", f.Name, f.Extension),
			Run:  c.Does(func(ctx context.Context, c *desk.Desk, in shell.Input) error { return runExport(ctx, c, in, f.Name) }),
		})
	}
	return cmd
}

// placed is how lines are asked for in a format that puts lines behind functions.
func placed(f report.Format) string {
	if f.Places {
		return "[--lines] "
	}
	return ""
}

// partly is how a part is asked for in a format that can be of one.
func partly(f report.Format) string {
	if f.Parts {
		return "[--threads] [--thread NAME|TID] [--from MOMENT] [--to MOMENT] "
	}
	return ""
}

// FormatList is a line of help for each format.
func FormatList() string {
	var b strings.Builder
	for _, f := range report.Formats() {
		fmt.Fprintf(&b, "  %-12s %s\n", f.Name, f.Short)
	}
	return b.String()
}

// An Export is what the words of export, or of hdb export, ask for.
type Export struct {
	Format  report.Format
	Options report.Options
	File    string // "-" is the output, "" not said
	Force   bool   // FILE may be replaced

	Sizes units.Sizes // how texts have sizes
	parts query.ProfileParts
}

// ParseExport reads the arguments of export: flags and the format. rest are the other words, such as the output file.
func ParseExport(words []string) (e Export, rest []string, err error) {
	rest, err = flags.All(words, e.flag)
	switch {
	case err != nil:
		return e, nil, fmt.Errorf("export: %w", err)
	case len(rest) == 0:
		return e, nil, fmt.Errorf("export: a format must follow: %s", strings.Join(formatNames(), ", "))
	}
	format, rest := rest[0], rest[1:]
	found, ok := report.FindFormat(format)
	if !ok {
		return e, nil, fmt.Errorf("export: %q: no such format: %s", format, strings.Join(formatNames(), ", "))
	}
	if e.Format = found; !found.Parts && e.parts != (query.ProfileParts{}) {
		return e, nil, fmt.Errorf("export: %s writes the whole recording: it takes no --threads, --thread, --from or --to", format)
	}
	if e.Options.Lines && !found.Places {
		return e, nil, fmt.Errorf("export: %s takes no --lines: only collapsed does", format)
	}
	e.parts.Line, e.parts.Snapshots, e.parts.Slots, e.parts.Collected = found.Line, found.Snapshots, found.Slots, found.Collected
	e.parts.Blocks = found.Blocks
	return e, rest, nil
}

func (e *Export) flag(name string) flags.Flag {
	switch name {
	case "f", "force":
		return flags.On(&e.Force)
	case "lines":
		return flags.On(&e.Options.Lines)
	case "threads":
		return flags.On(&e.parts.Threads)
	case "thread", "from", "to":
		return partFlag(&e.parts, name)
	case "o", "output":
		return flags.Text(&e.File)
	case "measure":
		return measureFlag(func(m report.Measure) { e.Options.Measure = m })
	case "root":
		return flags.Value(func(value string) (err error) {
			e.Options.Root, err = filepath.Abs(line.ExpandHome(value))
			return err
		})
	}
	return flags.Flag{}
}

func formatNames() []string {
	var names []string
	for _, f := range report.Formats() {
		names = append(names, f.Name)
	}
	return names
}

// DefaultFile is where the export of a capture is written by default: the capture's name with the
// format's ending.
func (e *Export) DefaultFile(path string) string {
	return strings.TrimSuffix(path, ".hdb") + e.Format.Extension
}

// Write writes to e.File, or to out if that is "-". A file appears whole or not
// at all, also when the context ends.
func (e *Export) Write(ctx context.Context, s *session.Session, out io.Writer) error {
	if e.File == "-" {
		if f, ok := out.(*os.File); ok && !e.Format.Text && term.IsTerminal(int(f.Fd())) {
			return fmt.Errorf("export: %s is not text for a terminal: name a file", e.Format.Name)
		}
		if e.Format.Tables != nil {
			return fmt.Errorf("export: %s is several files: name a directory", e.Format.Name)
		}
		return e.to(ctx, s, out)
	}
	if e.Format.Tables != nil { // they tell in a row what could not be read, and continue to the end
		return e.tables(s)
	}
	return newFile(s, "export", e.File, e.Force, func(w io.Writer) error { return e.to(ctx, s, w) })
}

// directory says why the tables cannot be written, before anything is added up. They
// may share a directory with those of other recordings.
func (e *Export) directory() error {
	if st, err := os.Stat(e.File); err == nil && !st.IsDir() {
		return fmt.Errorf("export: %s: is not a directory, which %s needs", e.File, e.Format.Name)
	}
	return nil
}

// to writes all but tables.
func (e *Export) to(ctx context.Context, s *session.Session, w io.Writer) (err error) {
	r, err := recordingOf(ctx, s)
	if err != nil {
		return err
	}
	w = writerUntil{w, ctx}
	defer func() {
		if err == nil && ctx.Err() != nil { // events ended early, and it was not noticed
			err = shell.ErrInterrupted
		}
	}()
	if e.Format.Events != nil {
		if err := s.Recorded.NoEvents(); err != nil {
			return err
		}
		return e.Format.Events(w, r)
	}
	p, err := s.Queries.Profile(e.parts)
	if err != nil {
		return err
	}
	if e.Format.Code {
		s.Queries.LocateCode(p)
	}
	p.Units = e.Sizes
	o := e.Options
	o.Recording = r
	if o.Root == "" {
		o.Root, _ = os.Getwd() // without one, paths stay absolute
	}
	return e.Format.Write(w, p, o)
}

// newFile writes a file about what the session recorded. verb is before errors.
func newFile(s *session.Session, verb, file string, force bool, to func(io.Writer) error) error {
	f := outfile.File{Path: file, Force: force, Inputs: []string{s.Captures.Path()}}
	if err := f.Write(to); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	return nil
}

// tables writes to a directory, with those of other recordings.
func (e *Export) tables(s *session.Session) error {
	if err := e.directory(); err != nil {
		return err
	}
	r, err := s.Queries.Recording()
	if err = errors.Join(err, s.Recorded.NoEvents()); err != nil {
		return err
	}
	if err := e.Format.Tables(e.File, r); err != nil {
		return fmt.Errorf("export %s: %w", e.File, err)
	}
	return nil
}

// recordingOf is the session's, whose events end when the context does.
func recordingOf(ctx context.Context, s *session.Session) (*report.Recording, error) {
	r, err := s.Queries.Recording()
	if err != nil {
		return nil, err
	}
	all := r.Events
	r.Events = func(yield func(report.Event) bool) {
		n := 0
		for e := range all {
			if n++; n%4096 == 0 && ctx.Err() != nil {
				return
			}
			if !yield(e) {
				return
			}
		}
	}
	return r, nil
}

// writerUntil fails when its context has ended.
type writerUntil struct {
	w   io.Writer
	ctx context.Context
}

func (u writerUntil) Write(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, shell.ErrInterrupted
	}
	return u.w.Write(p)
}

func runExport(ctx context.Context, c *desk.Desk, in shell.Input, format string) error {
	e, rest, err := ParseExport(append([]string{format}, in.Args...))
	if err != nil {
		return err
	}
	switch {
	case len(rest) > 1, len(rest) == 1 && e.File != "":
		return errors.New("export: one output file expected")
	case len(rest) == 1:
		e.File = rest[0]
	}
	e.Sizes = c.Out.Sizes
	info, err := c.Session.Recorded.Info()
	if err != nil {
		return err
	}
	switch saved := c.Session.Captures.Path(); {
	case e.File != "":
		e.File = line.ExpandHome(e.File)
	case saved != "":
		e.File = e.DefaultFile(saved)
	default:
		e.File = fmt.Sprintf("%s.%d%s", filepath.Base(info.Program), info.PID, e.Format.Extension)
	}
	if e.File == "-" {
		if !e.Format.Text {
			return fmt.Errorf("export: %s is not text: name a file", e.Format.Name)
		}
		var b strings.Builder
		if err := e.Write(ctx, c.Session, &b); err != nil {
			return err
		}
		c.Out.Raw(screen.CleanText(b.String()))
		return nil
	}
	if err := e.Write(ctx, c.Session, nil); err != nil {
		return err
	}
	c.Answer(in, struct {
		Path   string `json:"path"`
		Format string `json:"format"`
	}{e.File, e.Format.Name}, func(o *screen.Output) { o.Printf("exported %s\n", e.File) })
	return nil
}
