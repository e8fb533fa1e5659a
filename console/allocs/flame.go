package allocs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hdb/console/desk"
	"hdb/console/line"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/flags"
	"hdb/internal/units"
	"hdb/query"
	"hdb/report"
	"hdb/report/page"
	"hdb/session"
)

// tableLimit is how many functions a table of text has by default.
const tableLimit = 40

func pageCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "flamegraph", Group: shell.GroupAllocs, While: shell.RunsAlongside, Synopsis: "[FILE.html] [--measure MEASURE] [--threads] [--thread NAME|TID] [--from MOMENT] [--to MOMENT] [--force]", Short: "write an HTML page with a flame graph of allocations by stack", Args: []shell.ArgKind{shell.ArgFile}, Needs: shell.NeedRecord, Repeat: shell.RepeatNone, Run: c.Does(runPage),
			Long: "It counts up to the current moment. The page works in any browser without a network: click to zoom, search, put callers below callees, choose the measure, and show what grew between two moments. Without FILE the page is written next to the capture, or to PROGRAM.PID.html. An existing file is only replaced with --force.\n\n" +
				"MEASURE is drawn first: live (the default; for a recording that has ended, peak), peak, bytes, count, temporary or blocks. With --threads the page can show each thread by itself: what it allocated, and how much of it is live, whichever thread frees it; hdb has to read all events for that. With --thread it shows only what threads with that name or TID allocated; with --from and --to only what was allocated between two moments, see `goto`.\n\nExamples:\n  flamegraph\n  flamegraph peak.html --measure peak"},
		{Name: "table", Group: shell.GroupAllocs, While: shell.RunsAlongside, Synopsis: "[FILE.html] [-n N] [--measure MEASURE] [--thread NAME|TID] [--from MOMENT] [--to MOMENT] [--force]", Short: "list functions with what they allocated themselves and in total", Args: []shell.ArgKind{shell.ArgFile}, Needs: shell.NeedRecord, Repeat: shell.RepeatNone, Run: c.Does(runPage),
			Long: "Own is what a function requested itself, directly or through allocators and wrappers; the own numbers of all functions add up to the whole. Total also has what its callees allocated. With FILE it writes an HTML page with all measures to sort and search, otherwise it prints N functions, by default 40, 0 for all.\n\n" +
				"MEASURE is live (the default; for a recording that has ended, peak), peak, bytes, count, temporary or blocks. With --thread it counts only what threads with that name or TID allocated; with --from and --to only what was allocated between two moments, see `goto`.\n\nExamples:\n  table -n 10 --measure bytes\n  table functions.html"},
	}
}

// A Page is what the words of flamegraph or table ask for.
type Page struct {
	File    string // "-" is the output, "" not said
	verb    string
	force   bool // File may be replaced
	measure chosenMeasure
	limit   int // of a table of text

	Sizes units.Sizes // how texts have sizes
	parts query.ProfileParts
}

// ParsePage reads the words behind flamegraph and table. One that is no flag names
// the file, or with captures what is opened, and is left to the caller. A table
// without a file goes to the output.
func ParsePage(verb string, words []string, captures bool) (p Page, rest []string, err error) {
	p.verb, p.limit = verb, tableLimit
	p.parts.Line, p.parts.Snapshots = verb == "flamegraph", verb == "flamegraph"
	if rest, err = flags.All(words, p.flag); err != nil {
		return p, nil, fmt.Errorf("%s: %w", verb, err)
	}
	if !captures && len(rest) > 0 && p.File == "" {
		p.File, rest = line.ExpandHome(rest[0]), rest[1:]
	}
	if verb == "table" {
		p.File = cmp.Or(p.File, "-")
	}
	if ext := strings.ToLower(filepath.Ext(p.File)); slices.Contains(notPages, ext) {
		return p, nil, fmt.Errorf("%s: %s: the output is HTML, not %s: name it %s.html", verb, p.File, strings.ToUpper(ext[1:]), strings.TrimSuffix(p.File, filepath.Ext(p.File)))
	}
	return p, rest, nil
}

// notPages are suffixes by which a page would be taken for a picture.
var notPages = []string{".svg", ".png", ".pdf"}

func (p *Page) flag(name string) flags.Flag {
	switch {
	case name == "o", name == "output":
		return flags.Text(&p.File)
	case name == "f", name == "force":
		return flags.On(&p.force)
	case name == "measure":
		return p.measure.flag()
	case name == "thread", name == "from", name == "to":
		return partFlag(&p.parts, name)
	case name == "threads" && p.verb == "flamegraph":
		return flags.On(&p.parts.Threads)
	case name == "n" && p.verb == "table":
		return flags.Value(func(value string) error {
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 {
				return fmt.Errorf("%q: a number of functions expected", value)
			}
			p.limit = n
			return nil
		})
	}
	return flags.Flag{}
}

// A chosenMeasure is what --measure names, or else what says most.
type chosenMeasure struct {
	named   bool
	measure report.Measure
}

func (m *chosenMeasure) flag() flags.Flag {
	return measureFlag(func(measure report.Measure) { m.measure, m.named = measure, true })
}

// of is the measure for a profile, and a line that tells why it is not the usual one.
func (m chosenMeasure) of(p *report.Profile, sizes units.Sizes) (report.Measure, string) {
	if m.named {
		return m.measure, ""
	}
	if p.Usual() == report.Peak {
		most := p.Most(report.Live)
		if most == p.Most(report.Peak) {
			most = ""
		}
		return report.Peak, peakNote(sizes, p.Counted().Total().Live, most, "--measure live")
	}
	return report.Live, ""
}

// peakNote says that a report is by the peak, and what shows the end. most has most at the end, "" if it is the same as at the peak.
func peakNote(sizes units.Sizes, live uint64, most, other string) string {
	if live == 0 {
		return fmt.Sprintf("by the peak; nothing is live at the end (`%s`)", other)
	}
	if most != "" {
		most = ", most by " + most
	}
	return fmt.Sprintf("by the peak; at the end %s are live%s (`%s`)", sizes.Short(live), most, other)
}

// measureFlag takes one of the measures.
func measureFlag(take func(report.Measure)) flags.Flag {
	return flags.Value(func(value string) error {
		m, ok := report.FindMeasure(value)
		if !ok {
			return fmt.Errorf("%q: no such measure: %s", value, strings.Join(report.Measures[:], ", "))
		}
		take(m)
		return nil
	})
}

// DefaultFile is where the page of a capture is written by default.
func (p *Page) DefaultFile(path string) string { return strings.TrimSuffix(path, ".hdb") + ".html" }

// Write writes to the file, or to out if that is "-". A file appears whole or not
// at all, also when the context ends.
func (p *Page) Write(ctx context.Context, s *session.Session, out io.Writer) error {
	to := func(w io.Writer) error {
		profile, err := s.Queries.Profile(p.parts)
		if err != nil {
			return err
		}
		profile.Units = p.Sizes
		return p.draw(writerUntil{w, ctx}, profile)
	}
	if p.File == "-" {
		return to(out)
	}
	return newFile(s, p.verb, p.File, p.force, to)
}

// partFlag sets which part of a recording a report is of: thread, from or to.
func partFlag(parts *query.ProfileParts, name string) flags.Flag {
	switch name {
	case "thread":
		return flags.Text(&parts.Thread)
	case "from":
		return MomentFlag(&parts.From)
	}
	return MomentFlag(&parts.To)
}

// MomentFlag is a flag whose value is a moment.
func MomentFlag(m *query.Moment) flags.Flag {
	return flags.Value(func(value string) error { *m = query.ParseMoment(value); return nil })
}

func (p *Page) draw(w io.Writer, profile *report.Profile) error {
	measure, note := p.measure.of(profile, profile.Units)
	switch ext := filepath.Ext(p.File); {
	case p.verb == "flamegraph":
		return page.WriteFlamegraph(w, profile, measure)
	case ext == ".html" || ext == ".htm":
		return page.WriteTable(w, profile, measure)
	}
	if note != "" {
		if _, err := fmt.Fprintln(w, note); err != nil {
			return err
		}
	}
	return report.WriteTable(w, profile, report.Options{Measure: measure}, p.limit)
}

type rowView struct {
	Function string      `json:"function"`
	File     string      `json:"file,omitempty"`
	Line     int         `json:"line,omitempty"`
	Module   string      `json:"module,omitempty"`
	Library  bool        `json:"library,omitempty"`
	Own      numbersView `json:"own"`
	Total    numbersView `json:"total"`
}

type numbersView struct {
	Live      uint64 `json:"live_bytes"`
	Blocks    uint64 `json:"live_blocks"`
	Peak      uint64 `json:"peak_bytes"`
	Bytes     uint64 `json:"allocated_bytes"`
	Count     uint64 `json:"allocations"`
	Temporary uint64 `json:"temporary_blocks"`
}

func viewNumbers(n report.Numbers) numbersView {
	return numbersView{n.Live, n.LiveBlocks, n.Peak, n.Bytes, n.Allocs, n.Temporary}
}

func runPage(ctx context.Context, c *desk.Desk, in shell.Input) error {
	p, rest, err := ParsePage(in.Name, in.Args, false)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("%s: one output file expected", in.Name)
	}
	info, err := c.Session.Recorded.Info()
	if err != nil {
		return err
	}
	switch saved := c.Session.Captures.Path(); {
	case p.File == "-" && p.verb == "table":
		return showTable(c, in, p)
	case p.File == "-":
		return fmt.Errorf("%s: the output is an HTML page: name a file", in.Name)
	case p.File != "":
	case saved != "":
		p.File = p.DefaultFile(saved)
	default:
		p.File = fmt.Sprintf("%s.%d.html", filepath.Base(info.Program), info.PID)
	}
	p.Sizes = c.Out.Sizes
	if err := p.Write(ctx, c.Session, nil); err != nil {
		return err
	}
	c.Answer(in, struct {
		Path string `json:"path"`
	}{p.File}, func(o *screen.Output) { o.Printf("wrote %s\n", p.File) })
	return nil
}

// showTable prints the functions.
func showTable(c *desk.Desk, in shell.Input, page Page) error {
	p, err := c.Session.Queries.Profile(page.parts)
	if err != nil {
		return err
	}
	p.Units = c.Out.Sizes
	by, _ := page.measure.of(p, c.Out.Sizes)
	all := p.Counted()
	var rows []rowView
	if c.Opt.JSON {
		for _, r := range all.Sorted(by) {
			rows = append(rows, rowView{r.Function, r.File, r.Line, r.Module, r.Library, viewNumbers(r.Own), viewNumbers(r.Total)})
		}
	}
	var text strings.Builder
	if err := page.draw(&text, p); err != nil {
		return err
	}
	c.Show(in, struct {
		By       string      `json:"measure"`
		Partial  []string    `json:"partial,omitempty"`
		Warnings []string    `json:"warnings,omitempty"`
		Total    numbersView `json:"total"`
		Rows     []rowView   `json:"rows"`
	}{by.String(), report.ReasonTexts(p.Partial), p.Caveats.Lines(), viewNumbers(all.Total()), rows}, func(o *screen.Output) { o.Text(text.String()) })
	return nil
}
