package allocs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hdb/capture/file"
	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/cond"
	"hdb/internal/flags"
	"hdb/internal/outfile"
	"hdb/internal/regular"
	"hdb/internal/units"
	"hdb/query"
	"hdb/report"
	"hdb/session"
)

// AssertFlags is help on the flags of assert and hdb assert.
const AssertFlags = `  --max-peak SIZE           at most SIZE bytes are live at once, in blocks and
                            mappings of the program: 500MiB
  --max-allocs N            at most N blocks are allocated: 1e6, 250k (250,000:
                            k, M and G are powers of 1000 in an N, of 1024 in a SIZE)
  --no-leaks                no block is live at the end; Go's blocks do not count here
                            and in --max-leaked: its collector frees them
  --max-leaked SIZE         at most SIZE bytes are live at the end
  --max-live-growth SIZE    at most SIZE bytes more are live at the end than at the
                            moment of --since; a program that frees its memory
                            when it ends is checked before it does
  --max-temporary N         at most N temporary blocks: freed before the next
                            allocation
  --since MOMENT            the name of a mark, 1.5s, 30%, #4711, peak, start;
                            the default is 10% of the events
  --suppressions FILE       leaks that are allowed, in LeakSanitizer's format:
                            leak:PATTERN of a function, source file or module;
                            or in valgrind's: { entries } for Memcheck:Leak
  --strict                  also count memory that language runtimes keep for
                            themselves, such as stdio buffers and thread storage
  --allow-incomplete        decide by what is recorded, even if calls are missing from the
                            recording, the capture is damaged, or hdb attached when
                            the program had blocks
  --against FILE            no higher peak than in FILE, an earlier capture of the
                            program, and no stack leaves more at the program's end
  --tolerance SHARE         by how much its numbers may be exceeded, by default 1%;
                            a stack may have more by this share of the total, if
                            the total does not
  --stacks                  show stacks below a failed limit, without frames that are
                            not the program's; --full shows all frames
  --junit FILE              write a JUnit XML report, too
  --sarif FILE              write what failed as SARIF 2.1.0, too; paths of sources
                            below the working directory are relative to it
  --summary FILE            add a summary in Markdown to FILE, such as
                            $GITHUB_STEP_SUMMARY
  --code-quality FILE       write what failed as GitLab's code quality report
  --annotations             print what failed as GitHub annotations, at its lines
  -f, --force               replace these files
`

func assertCommand(c *desk.Desk) *shell.Command {
	return &shell.Command{
		Name: "assert", Group: shell.GroupAllocs, Synopsis: "FLAG...", Short: "check the recording against limits", Repeat: shell.RepeatNone, Run: c.Does(runAssert),
		Long: "It checks the events up to the current moment, reports whether each limit holds, and shows for each that does not the lines that contribute most. If a limit does not hold, the command fails, and a batch exits with 3. If a limit is undecided, the exit code is 6. A limit is undecided when calls missing from the recording may have exceeded it, when a missing free may be why it seems exceeded, or when no allocator function of the program is known. Limits on live blocks are also undecided when the recording began with an attach: blocks from before are not counted. `hdb assert` does the same from the command line, for a capture or for a program that it records.\n\nIf the recording is filtered, bounded or paused, or covers only a part of the run, there is only a warning: limits that hold for it may not hold for the run.\n\n" +
			AssertFlags + "\nExamples:\n  assert --max-peak 64MiB --no-leaks\n  assert --max-live-growth 1MiB --since 50%",
	}
}

// An Assertion is what the words of assert, or of hdb assert, ask for.
type Assertion struct {
	Limits       report.Limits
	Sizes        units.Sizes // how texts have sizes
	Since        string      // the moment that growth counts from
	Suppressions string      // a file, "" for none
	JUnit, SARIF string      // files to write, "" for none
	Summary      string      // the file that a summary in Markdown is added to, "" for none
	Quality      string      // a file for GitLab's code quality, "" for none
	Against      string      // another capture, "" for none
	Tolerance    *float64    // the share by which numbers may be higher than in it; nil: usualTolerance
	Annotations  bool        // workflow commands of GitHub are printed
	Folded, Full bool        // the stacks are shown, and all their frames
	Force        bool        // they may be replaced
}

// Flag is a flag of assert, the zero Flag if it has none of that name.
func (a *Assertion) Flag(name string) flags.Flag {
	switch l := &a.Limits; name {
	case "no-leaks":
		return flags.On(&l.NoLeaks)
	case "strict":
		return flags.On(&l.Strict)
	case "allow-incomplete":
		return flags.On(&l.Incomplete)
	case "f", "force":
		return flags.On(&a.Force)
	case "max-peak":
		return limitFlag(&l.MaxPeak, cond.ParseSize)
	case "max-allocs":
		return limitFlag(&l.MaxAllocs, cond.ParseCount)
	case "max-leaked":
		return limitFlag(&l.MaxLeaked, cond.ParseSize)
	case "max-live-growth":
		return limitFlag(&l.MaxLiveGrowth, cond.ParseSize)
	case "max-temporary":
		return limitFlag(&l.MaxTemporary, cond.ParseCount)
	case "since":
		return flags.NonEmpty(&a.Since)
	case "suppressions":
		return flags.NonEmpty(&a.Suppressions)
	case "stacks":
		return flags.On(&a.Folded)
	case "full":
		return flags.On(&a.Full)
	case "summary":
		return flags.NonEmpty(&a.Summary)
	case "code-quality":
		return flags.NonEmpty(&a.Quality)
	case "annotations":
		return flags.On(&a.Annotations)
	case "against":
		return flags.NonEmpty(&a.Against)
	case "tolerance":
		return flags.Value(a.setTolerance)
	case "junit":
		return flags.NonEmpty(&a.JUnit)
	case "sarif":
		return flags.NonEmpty(&a.SARIF)
	}
	return flags.Flag{}
}

// usualTolerance is the share by which two runs of one program may differ.
const usualTolerance = 0.01

// setTolerance reads a share, such as 5%.
func (a *Assertion) setTolerance(text string) error {
	percent, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(percent >= 0 && percent <= 1000) || !strings.HasSuffix(text, "%") {
		return fmt.Errorf("%q is not a share like 5%%", text)
	}
	a.Tolerance = new(percent / 100)
	return nil
}

// StackForm is how much of the stacks the text has.
func (a *Assertion) StackForm() report.StackForm {
	switch {
	case a.Full:
		return report.WholeStacks
	case a.Folded:
		return report.FoldedStacks
	}
	return report.NoStacks
}

// limitFlag takes a size or count as in conditions, and also 1e6.
func limitFlag(limit **uint64, parse func(string) (uint64, error)) flags.Flag {
	return flags.Value(func(value string) error {
		n, err := parse(value)
		if err != nil {
			f, e := strconv.ParseFloat(value, 64)
			if e != nil || !(f >= 0 && f < 1<<63) || f != float64(uint64(f)) {
				return err
			}
			n = uint64(f)
		}
		*limit = &n
		return nil
	})
}

// Ready says what is wrong with an assertion before anything is done, and reads the
// suppressions.
func (a *Assertion) Ready() error {
	if !a.Limits.Any() && a.Against == "" {
		return errors.New("assert: no limit given: --max-peak, --max-allocs, --no-leaks, --max-leaked, --max-live-growth, --max-temporary or --against expected")
	}
	if a.Tolerance != nil && a.Against == "" {
		return errors.New("assert: --tolerance is for --against")
	}
	if a.Since != "" && a.Limits.MaxLiveGrowth == nil {
		return errors.New("assert: --since is for --max-live-growth")
	}
	if a.Since == "" {
		a.Since = "10%"
	}
	if a.Suppressions == "" {
		return nil
	}
	var err error
	if a.Limits.Suppressions, err = readSuppressions(a.Suppressions); err != nil {
		return fmt.Errorf("assert: suppressions: %w", err)
	}
	return nil
}

// readSuppressions reads a file of suppressions.
func readSuppressions(path string) (*report.Suppressions, error) {
	f, _, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s, err := report.ParseSuppressions(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// An Outcome is what came of an assertion.
type Outcome struct {
	Profile  *report.Profile
	Verdicts []report.Verdict

	Suppressed *report.Suppressed // the leaks that are allowed; nil without suppressions
	earlier    []string           // what should be known of the earlier recording
}

// Err says that limits are exceeded, or that it is not known whether they are; nil if
// all hold.
func (o *Outcome) Err() error {
	failed, undecided := 0, 0
	for i := range o.Verdicts {
		switch v := &o.Verdicts[i]; {
		case v.Failed():
			failed++
		case v.Undecided:
			undecided++
		}
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%w: %d of %d", desk.ErrAssertion, failed, len(o.Verdicts))
	case undecided > 0:
		return fmt.Errorf("%w: %d of %d", desk.ErrUndecided, undecided, len(o.Verdicts))
	}
	return nil
}

// ExitCode is the exit code of Err.
func (o *Outcome) ExitCode() int {
	switch err := o.Err(); {
	case errors.Is(err, desk.ErrAssertion):
		return desk.ExitAssertion
	case errors.Is(err, desk.ErrUndecided):
		return desk.ExitUndecided
	}
	return desk.ExitOK
}

// Warnings are what should be known of the recording.
func (o *Outcome) Warnings() []string { return slices.Concat(o.Profile.Caveats.Lines(), o.earlier) }

// Check checks what the session recorded.
func (a *Assertion) Check(ctx context.Context, s *session.Session) (*Outcome, error) {
	p, err := s.Queries.WholeProfile()
	if err != nil {
		return nil, err
	}
	p.Units = a.Sizes
	if a.Against != "" {
		earlier, err := session.ProfileOf(s, a.Against)
		if err != nil {
			return nil, fmt.Errorf("assert: --against: %w", err)
		}
		share := usualTolerance
		if a.Tolerance != nil {
			share = *a.Tolerance
		}
		a.Limits.Against = &report.Earlier{Name: filepath.Base(a.Against), Profile: earlier, Tolerance: share}
	}
	if a.Limits.MaxLiveGrowth != nil {
		if a.Limits.Since, a.Limits.Until, err = s.Queries.Baselines(p, query.ParseMoment(a.Since)); err != nil {
			return nil, fmt.Errorf("assert: --since %w", err)
		}
	}
	if a.Limits.NoLeaks && p.Unfollowed() && s.Heap.LeaksByReach() == nil {
		if lost, err := s.Heap.Lost(ctx); err == nil { // else it stays undecided
			a.Limits.Lost = &report.Numbers{Live: lost.Bytes, LiveBlocks: uint64(lost.Blocks)}
		}
	}
	o := &Outcome{Profile: p, Verdicts: report.Check(p, &a.Limits), Suppressed: p.Suppressed(&a.Limits)}
	if e := a.Limits.Against; e != nil {
		if !e.Related(p) {
			o.earlier = append(o.earlier, e.Name+": it has no stack in common with this run: it may be of another program")
		}
		for _, line := range e.Profile.Caveats.Lines() {
			o.earlier = append(o.earlier, e.Name+": "+line)
		}
	}
	return o, nil
}

// Vacant says why a file that was asked for must not be written, before anything is
// done. capture is what will be checked.
func (a *Assertion) Vacant(capture string) error {
	for _, path := range []string{a.JUnit, a.SARIF, a.Quality} {
		if path == "" {
			continue
		}
		if err := a.output(path, capture).Check(); err != nil {
			return fmt.Errorf("assert: %w", err)
		}
	}
	if a.Summary == "" {
		return nil
	}
	added := a.output(a.Summary, capture)
	added.Force = true // it is added to, not replaced
	if err := added.Check(); err != nil {
		return fmt.Errorf("assert: --summary: %w", err)
	}
	return nil
}

// Known says why the earlier capture cannot be compared with, before anything is done.
func (a *Assertion) Known() error {
	if a.Against == "" || file.Is(a.Against) {
		return nil
	}
	if _, err := os.Stat(a.Against); err != nil {
		return fmt.Errorf("assert: --against: %w", err)
	}
	return fmt.Errorf("assert: --against: %s: not a capture", a.Against)
}

// output is one of the files to write about the capture.
func (a *Assertion) output(path, capture string) outfile.File {
	return outfile.File{Path: path, Force: a.Force, Inputs: []string{capture, a.Suppressions, a.Against}}
}

// Files writes the files that were asked for about what the session recorded. ended
// says how the program failed by itself, "" if it did not.
func (a *Assertion) Files(s *session.Session, o *Outcome, ended string) error {
	write := func(path string, to func(io.Writer) error) error {
		if path == "" {
			return nil
		}
		if err := a.output(path, s.Captures.Path()).Write(to); err != nil {
			return fmt.Errorf("assert: %w", err)
		}
		return nil
	}
	root, _ := os.Getwd() // without one, paths stay absolute
	return errors.Join(
		write(a.JUnit, func(w io.Writer) error {
			return report.WriteJUnit(w, o.Profile, o.Verdicts, ended, o.Suppressed)
		}),
		write(a.Quality, func(w io.Writer) error {
			return report.WriteCodeQuality(w, o.Profile, o.Verdicts, report.Options{Root: root})
		}),
		a.addSummary(o, ended),
		write(a.SARIF, func(w io.Writer) error {
			return report.WriteVerdictsSARIF(w, o.Profile, o.Verdicts, o.Suppressed, report.Options{Root: root})
		}),
	)
}

// addSummary adds the summary to its file: several steps of a job share one.
func (a *Assertion) addSummary(o *Outcome, ended string) error {
	if a.Summary == "" {
		return nil
	}
	f, err := os.OpenFile(a.Summary, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return fmt.Errorf("assert: --summary: %w", err)
	}
	if err := cmp.Or(report.WriteMarkdown(f, o.Profile, o.Verdicts, ended), f.Close()); err != nil {
		return fmt.Errorf("assert: --summary: %w", err)
	}
	return nil
}

// Annotate writes the annotations if they were asked for.
func (a *Assertion) Annotate(w io.Writer, o *Outcome) error {
	if !a.Annotations {
		return nil
	}
	root, _ := os.Getwd()
	return report.WriteAnnotations(w, o.Profile, o.Verdicts, report.Options{Root: root})
}

func runAssert(ctx context.Context, c *desk.Desk, in shell.Input) error {
	var a Assertion
	switch others, err := flags.All(in.Args, a.Flag); {
	case err != nil:
		return fmt.Errorf("assert: %w", err)
	case len(others) > 0:
		return fmt.Errorf("assert: %q: a flag like --no-leaks expected", others[0])
	}
	for _, path := range []*string{&a.Suppressions, &a.JUnit, &a.SARIF, &a.Quality, &a.Summary, &a.Against} {
		*path = line.ExpandHome(*path)
	}
	if err := cmp.Or(a.Ready(), a.Known(), a.Vacant(c.Session.Captures.Path())); err != nil {
		return err
	}
	a.Sizes = c.Out.Sizes
	o, err := a.Check(ctx, c.Session)
	if err != nil {
		return err
	}
	c.Show(in, struct {
		Assertions []report.Verdict `json:"assertions"`
		*report.Suppressed
		Warnings []string `json:"warnings,omitempty"`
	}{o.Verdicts, o.Suppressed, o.Warnings()}, func(out *screen.Output) {
		var b strings.Builder
		_ = report.WriteVerdicts(&b, o.Profile, o.Verdicts, a.StackForm()) // a Builder takes all
		_ = a.Annotate(&b, o)
		out.Text(b.String() + o.Suppressed.Text())
		for _, line := range o.Warnings() {
			out.Line(screen.Warning("warning: "), screen.Plain(line))
		}
	})
	return errors.Join(o.Err(), a.Files(c.Session, o, ""))
}
