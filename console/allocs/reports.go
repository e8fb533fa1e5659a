package allocs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/flags"
	"hdb/query"
	"hdb/report"
	"hdb/report/page"
	"hdb/session"
	"hdb/session/target"
)

// Reports are the words of the reports of a recording.
var Reports = [...]string{"stats", "summary", "tree", "timeline"}

// ReportHelp is what may follow each of them, for hdb's own help.
func ReportHelp(verb string) string {
	switch verb {
	case "tree":
		return treeFlags + partFlags
	case "timeline":
		return timelineFlags
	}
	return partFlags
}

const (
	treeFlags = `  --measure MEASURE  what is counted: live (bytes not freed), peak (the default once
                     the program has ended), bytes, count, temporary or blocks
  --threads          show threads as the outermost rows
  --thread NAME|TID  only what threads with this name or TID allocated
  --depth N          show at most N levels
  --min SHARE        the smallest share of the total that has its own row, by default 1%
  --inverted         allocating functions first, their callers below
  --full             include allocators, wrappers, library functions and the
                     callers of main
`
	partFlags = `  --from MOMENT      only blocks allocated after this moment
  --to MOMENT        and up to this one; a MOMENT is a mark, #4711, 30%, 1.5s, peak, start
`
	timelineFlags = `  -o FILE            write an HTML page with the curves, which needs no network
  -f, --force        replace FILE
`
)

func reportCommands(c *desk.Desk) []*shell.Command {
	measures := strings.Join(report.Measures[:], "|")
	return []*shell.Command{
		{Name: "stats", Group: shell.GroupAllocs, While: shell.RunsAlongside, Synopsis: "[--from MOMENT] [--to MOMENT]", Args: []shell.ArgKind{shell.ArgWord}, Short: "count what was allocated: totals, sizes, functions, lines", Repeat: shell.RepeatNone, Run: c.Does(runReport),
			Long: "It counts up to the current moment: blocks and bytes allocated, temporary blocks (freed before another block was allocated), the peak, what is live, what is missing from the recording; a histogram of requested sizes; the calls of each allocator function; and the source lines with the most bytes and the most blocks. With --from and --to it counts only what was allocated between two moments, and how much of it was live at the second; see `goto` for how moments are named.\n\nExamples:\n  stats\n  stats --from 10% --to peak"},
		{Name: "summary", Group: shell.GroupAllocs, While: shell.RunsAlongside, Synopsis: "[--from MOMENT] [--to MOMENT]", Args: []shell.ArgKind{shell.ArgWord}, Short: "show on one screen what the program did with memory", Repeat: shell.RepeatNone, Run: c.Does(runReport),
			Long: "It shows the functions with the largest share of any measure: of the peak, of live bytes (as a share of the peak), of all bytes or of all blocks. Resident memory is the whole process's, including hdb's own memory in it: at a stop, `vmmap -layers` shows how much that is. Caveats are listed at the end. With --from and --to it counts only what was allocated between two moments.\n\nExample:\n  summary"},
		{Name: "tree", Group: shell.GroupAllocs, While: shell.RunsAlongside, Synopsis: "[--measure " + measures + "] [--threads] [--thread NAME|TID] [--from MOMENT] [--to MOMENT] [--depth N] [--min SHARE] [--inverted] [--full] [--interactive]", Short: "show the calls that led to allocations as a tree", Args: []shell.ArgKind{shell.ArgWord}, Repeat: shell.RepeatNone, Run: c.Does(runReport),
			Long: "Callers are above the functions they call, the largest first, each with its share of the total; with --inverted the allocating functions are above their callers. The default measure is live; for a recording that has ended it is peak. A function that allocates only through one other shares a row with it. Functions with less than SHARE, by default 1%, share one row. Without --full, allocators, wrappers, library functions and the callers of main are left out. With --threads the threads are above what they allocated. With --thread it counts only what threads with that name or TID allocated; with --from and --to only what was allocated between two moments.\n\nWith --interactive the tree fills the terminal: Up and Down move, Right opens a function, Left closes it, Enter does either, / searches, n finds the next match, q quits.\n\nExamples:\n  tree\n  tree --measure peak --min 5%\n  tree --inverted --measure count --depth 3"},
		{Name: "timeline", Group: shell.GroupAllocs, While: shell.RunsAlongside, Synopsis: "[-o FILE.html [--force]]", Short: "draw the heap and the resident memory over time", Args: []shell.ArgKind{shell.ArgFile}, Repeat: shell.RepeatNone, Run: c.Does(runReport),
			Long: "The height of a column is the heap's largest size in the interval it covers. The letters below are marks. Resident memory is the whole process's, including hdb's own memory in it: at a stop, `vmmap -layers` shows how much that is. With -o it writes a page for a browser, which shows the values under the pointer and needs no network.\n\nExamples:\n  timeline\n  timeline -o heap.html"},
	}
}

// A Report is what the words of one of the Reports ask for.
type Report struct {
	Verb  string
	JSON  bool
	Tree  report.TreeOptions
	parts query.ProfileParts

	measure chosenMeasure // of the tree

	Keys  bool   // the tree is opened and closed by keys
	File  string // of a page; "" is none
	Force bool   // File may be replaced
}

// ParseReport reads the words behind one of the Reports: flags, and what is none,
// for the caller.
func ParseReport(verb string, words []string) (r Report, rest []string, err error) {
	r = Report{Verb: verb, Tree: report.TreeOptions{Min: 0.01}, parts: query.ProfileParts{Line: verb == "timeline"}}
	if rest, err = flags.All(words, r.flag); err != nil {
		return r, nil, fmt.Errorf("%s: %w", verb, err)
	}
	if r.Force && r.File == "" {
		return r, nil, fmt.Errorf("%s: --force is for -o FILE", verb)
	}
	return r, rest, nil
}

func (r *Report) flag(name string) flags.Flag {
	switch {
	case name == "json":
		return flags.On(&r.JSON)
	case r.Verb != "timeline" && (name == "from" || name == "to"):
		return partFlag(&r.parts, name)
	case r.Verb == "tree":
		return r.treeFlag(name)
	case r.Verb == "timeline" && (name == "force" || name == "f"):
		return flags.On(&r.Force)
	case r.Verb == "timeline" && (name == "o" || name == "output"):
		return flags.Text(&r.File)
	}
	return flags.Flag{}
}

func (r *Report) treeFlag(name string) flags.Flag {
	switch name {
	case "inverted", "invert":
		return flags.On(&r.Tree.Inverted)
	case "threads":
		return flags.On(&r.parts.Threads)
	case "thread":
		return partFlag(&r.parts, name)
	case "full":
		return flags.On(&r.Tree.Full)
	case "interactive", "i":
		return flags.On(&r.Keys)
	case "measure":
		return r.measure.flag()
	case "depth":
		return flags.Value(func(value string) error {
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return fmt.Errorf("%q: a number of levels expected", value)
			}
			r.Tree.Depth = n
			return nil
		})
	case "min":
		return flags.Value(func(value string) error {
			n, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
			if err != nil || !(n >= 0 && n <= 100) {
				return fmt.Errorf("%q: a share from 0%% to 100%% expected", value)
			}
			r.Tree.Min = n / 100
			return nil
		})
	}
	return flags.Flag{}
}

// PrintReport writes a report of the recorded events to w, which may be a terminal, or to its
// file; errw gets a line about that.
func PrintReport(w, errw io.Writer, s *session.Session, r *Report) error {
	c := &desk.Desk{Shell: shell.New(shell.Options{Out: w, JSON: r.JSON}, nil), Session: s}
	if r.File != "" && !r.JSON {
		c.Out.W = errw // nothing is data
	}
	if err := showRecorded(c, shell.Input{Name: r.Verb}, r); err != nil {
		return err
	}
	return c.Out.Err()
}

func runReport(ctx context.Context, c *desk.Desk, in shell.Input) error {
	r, rest, err := ParseReport(in.Name, in.Args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return fmt.Errorf("%s: %q: a flag expected: see `help %s`", in.Name, rest[0], in.Name)
	case r.JSON && !c.Opt.JSON:
		return fmt.Errorf("%s: --json is a flag of hdb itself: hdb --json, or hdb %s --json CAPTURE", in.Name, in.Name)
	}
	r.File = line.ExpandHome(r.File)
	if r.Keys {
		if c.Bg.Running() { // which would wait for the keys
			return fmt.Errorf("%s --interactive: %w", in.Name, target.ErrNotStopped)
		}
		return browse(ctx, c, in, &r)
	}
	return showRecorded(c, in, &r)
}

func showRecorded(c *desk.Desk, in shell.Input, r *Report) error {
	p, err := c.Session.Queries.Profile(r.parts)
	if err != nil {
		return err
	}
	p.Units = c.Out.Sizes
	if r.File != "" {
		err := newFile(c.Session, in.Name, r.File, r.Force, func(w io.Writer) error { return page.WriteTimeline(w, p) })
		if err != nil {
			return err
		}
		c.Answer(in, struct {
			Path string `json:"path"`
		}{r.File}, func(o *screen.Output) { o.Printf("wrote %s\n", r.File) })
		return nil
	}
	by, note := r.measure.of(p, c.Out.Sizes)
	r.Tree.Measure = by
	var data any
	var text func(io.Writer, *report.Profile, report.Text) error
	switch r.Verb {
	case "stats":
		data, text = report.StatsOf(p), report.WriteStats
	case "summary":
		data, text = report.SummaryOf(p), report.WriteSummary
	case "tree":
		if c.Opt.JSON {
			data = treeView{r.Tree.Measure.String(), r.Tree.Inverted, report.ReasonTexts(p.Partial), p.Caveats.Lines(), report.NewTree(p, r.Tree).View()}
		}
		text = func(w io.Writer, p *report.Profile, t report.Text) error {
			if note != "" {
				fmt.Fprintln(w, note) // to a strings.Builder
			}
			return report.WriteTree(w, p, r.Tree, t)
		}
	case "timeline":
		data, text = report.TimelineOf(p), report.WriteTimeline
	default:
		return errors.New(r.Verb + ": no such report")
	}
	var b strings.Builder
	if !c.Opt.JSON {
		if err := text(&b, p, reportText(c)); err != nil {
			return err
		}
	}
	c.Show(in, data, func(o *screen.Output) { o.Text(b.String()) })
	return nil
}

type treeView struct {
	Measure  string          `json:"measure"`
	Inverted bool            `json:"inverted"`
	Partial  []string        `json:"partial,omitempty"`
	Warnings []string        `json:"warnings,omitempty"`
	Tree     report.TreeView `json:"tree"`
}

// reportText is how reports are put on the screen. What goes elsewhere is only cut to a width that
// was asked for.
func reportText(c *desk.Desk) report.Text {
	t := report.Text{Unicode: screen.BlockElements(c.Opt.Getenv), Fit: screen.LastParts, Path: screen.ShortPath}
	names := c.Out.Names
	t.Name = func(f *report.Frame) string { return names.Short(names.Function(f.Function, f.Linkage)) }
	if f, ok := c.Out.W.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		t.Width, _, _ = screen.TerminalSize(c.Out)
	} else if c.Out.Fit { // behind a pager
		t.Width = c.Out.Width
	}
	for _, width := range []string{c.Opt.Getenv("COLUMNS"), c.Set.Value("width")} {
		if n, err := strconv.Atoi(width); err == nil && n > 0 && (t.Width == 0 || width == c.Set.Value("width")) {
			t.Width = n
		}
	}
	return t
}
