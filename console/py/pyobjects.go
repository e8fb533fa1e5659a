package py

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"hdb/console/desk"
	"hdb/console/screen"
	"hdb/console/shell"
	"hdb/internal/flags"
	"hdb/internal/units"
	"hdb/python/inspect"
	"hdb/python/objects"
	"hdb/session/cpython"
)

func pythonObjectCommands(c *desk.Desk) []*shell.Command {
	return []*shell.Command{
		{Name: "types", Synopsis: "[REGEXP] [N]", Short: "count Python objects by type", Needs: shell.NeedObjects, Repeat: shell.RepeatNone, Run: c.Does(runPythonTypes),
			Long: "It counts the objects that the garbage collector tracks, and those that these objects and the threads' frames refer to, with their bytes as in sys.getsizeof. It lists the N types with the most bytes, by default 20. REGEXP selects types by name. Objects to which no reference leads are found in the pools of the small-object allocator, and marked as unreached: C code holds them, or a reference count was not decremented." +
				"\n\nExamples:\n  py types\n  py types ^app\\. 50"},
		{Name: "refs", Raw: true, Synopsis: "[-path] OBJECT", Short: "show what refers to a Python object", Needs: shell.NeedObjects, Repeat: shell.RepeatNone, Run: c.Does(runPythonReferrers),
			Long: "OBJECT is an expression as in py print, else one of the selected function of C, or the address of an object. Each reference is shown as an attribute, element or variable, with the object that contains it. -path shows instead a shortest path to it from a module or from a thread's frame. References in C code's own variables and stack are not found." +
				"\n\nExamples:\n  py refs self.parts[3]\n  py refs item\n  py refs -path 0x7ffff6f1c2c0"},
		{Name: "gc", Short: "show the generations of Python's garbage collector", Needs: shell.NeedObjects, Repeat: shell.RepeatNone, Run: c.Does(runPythonCollector),
			Long: "It shows the numbers of gc.get_count, gc.get_threshold, gc.get_stats and gc.get_freeze_count, and how many objects each generation has.\n\nExample:\n  py gc"},
	}
}

type pythonTypeView struct {
	Name      string `json:"type"`
	Types     int    `json:"type_count,omitempty"` // of that name, if there are several
	Objects   int    `json:"objects"`
	Bytes     int64  `json:"object_bytes"`
	Tracked   int    `json:"tracked"`
	Unreached int    `json:"unreached,omitempty"`
	Unknown   bool   `json:"struct_only,omitempty"`
	Torn      int    `json:"unsized,omitempty"`
}

// pythonTypesView is the types of an interpreter that were asked for; the sums are of all of these.
type pythonTypesView struct {
	Version   string           `json:"version"`
	Objects   int              `json:"objects"`
	Bytes     int64            `json:"object_bytes"`
	Tracked   int              `json:"tracked"`
	Unreached int              `json:"unreached"`
	Total     int              `json:"total"` // types
	Types     []pythonTypeView `json:"types"`
	Caveats   []string         `json:"warnings,omitempty"`
}

const usualTypes = 20

func runPythonTypes(_ context.Context, c *desk.Desk, in shell.Input) error {
	limit, pattern := usualTypes, ""
	for i, a := range in.Args {
		n, err := strconv.Atoi(a)
		switch {
		case err == nil && n > 0 && i == len(in.Args)-1:
			limit = n
		case i == 0 && len(in.Args) <= 2:
			pattern = a
		default:
			return fmt.Errorf("py types: %q: a regular expression and a number of rows expected", a)
		}
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return fmt.Errorf("py types: %w", err)
	}
	all, refused, err := c.Session.Objects.Census()
	if err != nil {
		return fmt.Errorf("py types: %w", err)
	}
	views := []pythonTypesView{}
	for _, r := range all {
		v := pythonTypesView{Version: r.Runtime.Version, Types: []pythonTypeView{}, Caveats: censusCaveats(r.Census)}
		for _, t := range r.Types {
			if !re.MatchString(t.Name) {
				continue
			}
			v.Objects, v.Bytes, v.Tracked = v.Objects+t.Objects, v.Bytes+t.Bytes, v.Tracked+t.Tracked
			v.Unreached += t.Unreached
			if v.Total++; len(v.Types) == limit {
				continue
			}
			row := pythonTypeView{t.Name, 0, t.Objects, t.Bytes, t.Tracked, t.Unreached, t.Unknown, t.Torn}
			if t.Types > 1 {
				row.Types = t.Types
			}
			v.Types = append(v.Types, row)
		}
		views = append(views, v)
	}
	c.Show(in, struct {
		Interpreters []pythonTypesView `json:"interpreters"`
		Refused      string            `json:"refused,omitempty"`
	}{views, reasonText(refused)}, func(o *screen.Output) {
		for _, v := range views {
			printPythonTypes(o, v, len(views) > 1, pattern)
		}
		if refused != nil {
			o.Line(screen.Guess("(" + refused.Error() + ")"))
		}
	})
	return nil
}

func reasonText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func printPythonTypes(o *screen.Output, v pythonTypesView, several bool, pattern string) {
	if several {
		o.Line(screen.Plain("CPython " + v.Version))
	}
	var rows [][]screen.Span
	for _, t := range v.Types {
		note := ""
		if t.Types > 1 {
			note = units.Count(t.Types, "type")
		}
		if t.Unreached > 0 {
			note = joined(note, units.Grouped(uint64(t.Unreached))+" unreached")
		}
		if t.Unknown {
			note = joined(note, "structs only")
		}
		if t.Torn > 0 {
			note = joined(note, units.Count(t.Torn, "size")+" unknown")
		}
		if note != "" {
			note = "(" + note + ")"
		}
		rows = append(rows, []screen.Span{screen.Plain(o.Sizes.Short(uint64(t.Bytes))), screen.Plain(units.Grouped(uint64(t.Objects))), screen.Plain(t.Name), screen.Guess(note)})
	}
	switch {
	case len(rows) > 0:
		o.Table([]screen.Column{{Head: "bytes", Right: true}, {Head: "objects", Right: true}, {Head: "type"}, {}}, rows)
	case pattern != "":
		o.Line(screen.Plain("no type matches " + pattern))
	}
	if len(v.Types) < v.Total {
		again := strconv.Itoa(v.Total)
		if pattern != "" {
			again = pattern + " " + again
		}
		o.Printf("%d of %s; `py types %s` lists all\n", len(v.Types), units.Count(v.Total, "type"), again)
	}
	if v.Total > 0 {
		line := fmt.Sprintf("%s of %s, %s tracked by the garbage collector", o.Sizes.Short(uint64(v.Bytes)), units.Count(v.Objects, "object"), units.Grouped(uint64(v.Tracked)))
		if v.Unreached > 0 {
			line += ", " + units.Grouped(uint64(v.Unreached)) + " unreached"
		}
		o.Line(screen.Plain(line))
	}
	for _, s := range v.Caveats {
		o.Line(screen.Guess("(" + s + ")"))
	}
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// censusCaveats is what is not counted, or not right.
func censusCaveats(c *objects.Census) (all []string) {
	if c.Pools == nil {
		all = append(all, "not counted: objects of more than 512 bytes that the collector does not track and only C code refers to")
	} else {
		all = append(all, "not counted: objects that the collector does not track and only C code refers to: "+c.Pools.Error())
	}
	if c.Collecting {
		all = append(all, "the collector is running: objects that it is processing are counted only if others refer to them")
	}
	if c.Strange > 0 {
		all = append(all, units.Count(c.Strange, "tracked object")+" of no type that can be read")
	}
	for _, err := range []error{c.Torn, c.Cut} {
		if err != nil {
			all = append(all, "there may be more: "+err.Error())
		}
	}
	return all
}

type pythonGenerationView struct {
	Objects       int    `json:"objects"`
	Count         int    `json:"count"`
	Threshold     int    `json:"threshold"`
	Collections   uint64 `json:"collections"`
	Collected     uint64 `json:"collected"`
	Uncollectable uint64 `json:"uncollectable"`
}

type pythonCollectorView struct {
	Version     string                 `json:"version"`
	Interpreter int64                  `json:"interpreter"`
	Enabled     bool                   `json:"enabled"`
	Collecting  bool                   `json:"collecting,omitempty"`
	Debug       int                    `json:"debug_flags,omitempty"`
	Tracked     int                    `json:"tracked"`
	Frozen      int                    `json:"frozen"`
	Garbage     int                    `json:"garbage"`
	Generations []pythonGenerationView `json:"generations"`
	Truncated   string                 `json:"truncated,omitempty"`
}

func runPythonCollector(_ context.Context, c *desk.Desk, in shell.Input) error {
	all, refused, err := c.Session.Objects.Collectors()
	if err != nil {
		return fmt.Errorf("py gc: %w", err)
	}
	views := []pythonCollectorView{}
	for _, g := range all {
		v := pythonCollectorView{Version: g.Runtime.Version, Interpreter: g.Interpreter, Enabled: g.Enabled, Collecting: g.Collecting, Debug: g.Debug,
			Tracked: g.Tracked(), Frozen: g.Frozen, Garbage: g.Garbage, Truncated: reasonText(g.Torn)}
		for _, x := range g.Generations {
			v.Generations = append(v.Generations, pythonGenerationView{x.Objects, x.Count, x.Threshold, x.Collections, x.Collected, x.Uncollectable})
		}
		views = append(views, v)
	}
	c.Show(in, struct {
		Collectors []pythonCollectorView `json:"collectors"`
		Refused    string                `json:"refused,omitempty"`
	}{views, reasonText(refused)}, func(o *screen.Output) {
		for _, v := range views {
			printPythonCollector(o, v, len(views) > 1)
		}
		if refused != nil {
			o.Line(screen.Guess("(" + refused.Error() + ")"))
		}
	})
	return nil
}

func printPythonCollector(o *screen.Output, v pythonCollectorView, several bool) {
	state := "enabled"
	if !v.Enabled {
		state = "disabled"
	}
	if v.Collecting {
		state += ", at work"
	}
	if v.Debug != 0 {
		state += fmt.Sprintf(", debug flags %#x", v.Debug)
	}
	head := "garbage collector"
	if several {
		head = fmt.Sprintf("CPython %s, interpreter %d", v.Version, v.Interpreter)
	}
	o.Line(screen.Plain(head + ": " + state))
	var rows [][]screen.Span
	for i, g := range v.Generations {
		rows = append(rows, []screen.Span{screen.Plain(strconv.Itoa(i)), screen.Plain(units.Grouped(uint64(g.Objects))), screen.Plain(strconv.Itoa(g.Count)), screen.Plain(strconv.Itoa(g.Threshold)),
			screen.Plain(units.Grouped(g.Collections)), screen.Plain(units.Grouped(g.Collected)), screen.Plain(units.Grouped(g.Uncollectable))})
	}
	o.Table([]screen.Column{{Head: "generation", Right: true}, {Head: "objects", Right: true}, {Head: "count", Right: true}, {Head: "threshold", Right: true},
		{Head: "collections", Right: true}, {Head: "collected", Right: true}, {Head: "uncollectable", Right: true}}, rows)
	o.Printf("%s tracked, of them %s frozen; %d in gc.garbage\n", units.Count(v.Tracked, "object"), units.Grouped(uint64(v.Frozen)), v.Garbage)
	if v.Collecting {
		o.Line(screen.Guess("(objects that the collector is processing now are in none of the generations)"))
	}
	if v.Truncated != "" {
		o.Line(screen.Guess("(there may be more: " + v.Truncated + ")"))
	}
}

type pythonReferrerView struct {
	Text      string                `json:"reference"`
	At        string                `json:"address,omitempty"` // of the object that has it
	Type      string                `json:"type,omitempty"`
	Owner     string                `json:"owner,omitempty"` // of the object that the text begins with
	OwnerType string                `json:"owner_type,omitempty"`
	Frame     *desk.PythonFrameView `json:"frame,omitempty"`
	TID       int                   `json:"tid,omitempty"`
	Unsure    bool                  `json:"unsure,omitempty"`
}

func viewReferrer(r objects.Referrer) pythonReferrerView {
	v := pythonReferrerView{Text: r.Text, Type: r.Type, OwnerType: r.OwnerType, Unsure: r.Unsure}
	if r.At != 0 {
		v.At = r.At.String()
	}
	if r.Owner != 0 {
		v.Owner = r.Owner.String()
	}
	if r.Frame != nil {
		v.Frame, v.TID = rootFrame(r.Frame), r.Frame.State.TID
	}
	return v
}

func rootFrame(f *objects.FrameRoot) *desk.PythonFrameView {
	return &desk.PythonFrameView{Function: cmp.Or(f.Code.Qualname, f.Code.Name), File: f.Code.File, Line: f.Line}
}

// rootPlace is a frame as text, with its thread where that is known.
func rootPlace(f *desk.PythonFrameView, tid int) string {
	s := fmt.Sprintf("of %s  %s:%d", f.Function, screen.ShortPath(f.File), f.Line)
	if tid != 0 {
		s += fmt.Sprintf("  (tid %d)", tid)
	}
	return s
}

// usualReferrers is how many are shown as text.
const usualReferrers = 50

func runPythonReferrers(_ context.Context, c *desk.Desk, in shell.Input) error {
	expr := strings.TrimSpace(in.Raw)
	if rest, ok := flags.Cut(expr, "path"); ok {
		return showPythonPath(c, in, rest)
	}
	if expr == "" {
		return errors.New("py refs: an expression must follow, as self.rows[0], or the address of an object")
	}
	var r cpython.Referrers
	err := ofObject(c, in, expr, func(expr string) (err error) {
		r, err = c.Session.Objects.Referrers(expr, inspect.DefaultLimits)
		return err
	})
	if err != nil {
		return err
	}
	views := []pythonReferrerView{}
	for _, x := range r.List {
		views = append(views, viewReferrer(x))
	}
	var count *uint64
	if r.Counted {
		count = &r.Count
	}
	c.Show(in, struct {
		At        string               `json:"address"`
		Type      string               `json:"type"`
		Value     string               `json:"value"`
		Count     *uint64              `json:"count,omitempty"` // none of an immortal object
		Total     int                  `json:"total"`
		Instances int                  `json:"instances,omitempty"` // of a class, each of which refers to it
		Referrers []pythonReferrerView `json:"referrers"`
		Truncated string               `json:"truncated,omitempty"`
	}{r.At.String(), r.Type, r.Value, count, r.Total, r.Instances, views, reasonText(r.Cut)}, func(o *screen.Output) {
		o.Text(fmt.Sprintf("%s at %v: %s\n", r.Type, r.At, r.Value))
		var rows [][]screen.Span
		shown := 0
		for first := 0; first < len(views) && len(rows) < usualReferrers; first = shown {
			row := referrerRow(views[first])
			for shown = first; shown < len(views) && views[shown].like(&views[first]); {
				shown++
			}
			if n := shown - first; n > 1 {
				row = append(row, screen.Guess(fmt.Sprintf("(and %d more like it)", n-1)))
			}
			rows = append(rows, row)
		}
		if r.Instances > 0 {
			rows = append(rows, []screen.Span{screen.Plain(units.Count(r.Instances, "instance")), {}})
		}
		if len(rows) > 0 {
			o.Table([]screen.Column{{}, {}, {}}, rows)
		}
		counted := "it is immortal, and its references are not counted"
		if r.Counted {
			counted = fmt.Sprintf("%d counted", r.Count)
		}
		o.Printf("%s found, %s\n", units.Count(r.Total, "reference"), counted)
		if more := r.Total - r.Instances - shown; more > 0 {
			o.Line(screen.Guess("(" + units.Count(more, "more reference") + ")"))
		}
		if r.Cut != nil {
			o.Line(screen.Guess("(there may be more: " + r.Cut.Error() + ")"))
		}
	})
	return nil
}

// ofObject asks a question about the object that an expression means: of Python, or else of C, as for a PyObject * in an extension.
func ofObject(c *desk.Desk, in shell.Input, expr string, ask func(expr string) error) error {
	err := ask(expr)
	if err == nil {
		return nil
	}
	if strings.ContainsAny(expr, "(=") { // of C it might call or assign
		return fmt.Errorf("py refs: %w", err)
	}
	if at, ofC := c.Eval.AddressOf(in, expr); ofC == nil && ask(fmt.Sprintf("%#x", at)) == nil {
		return nil
	}
	return fmt.Errorf("py refs: %w", err)
}

// like reports whether two references print alike: same text, and objects and owners of the same types.
func (v *pythonReferrerView) like(o *pythonReferrerView) bool {
	return v.Text == o.Text && v.Type == o.Type && v.OwnerType == o.OwnerType && (v.Frame == nil) == (o.Frame == nil) && v.Unsure == o.Unsure
}

func referrerRow(v pythonReferrerView) []screen.Span {
	where := ""
	switch {
	case v.Frame != nil && v.At != "":
		where = fmt.Sprintf("%s at %s, %s", v.Type, v.At, rootPlace(v.Frame, v.TID))
	case v.Frame != nil:
		where = rootPlace(v.Frame, v.TID)
	case v.Owner != "":
		where = fmt.Sprintf("%s at %s, of %s at %s", v.Type, v.At, v.OwnerType, v.Owner)
	default:
		where = fmt.Sprintf("%s at %s", v.Type, v.At)
	}
	if v.Unsure {
		where += "  (may be left over)"
	}
	return []screen.Span{screen.Plain(v.Text), screen.Guess(where)}
}

func showPythonPath(c *desk.Desk, in shell.Input, expr string) error {
	if expr == "" {
		return errors.New("py refs: -path: an expression or an address must follow")
	}
	var p *objects.Path
	err := ofObject(c, in, expr, func(expr string) (err error) {
		p, err = c.Session.Objects.Path(expr)
		return err
	})
	if err != nil {
		return err
	}
	type stepView struct {
		Text string `json:"reference"`
		At   string `json:"address"`
		Type string `json:"type"`
	}
	views := []stepView{}
	for _, s := range p.Steps {
		views = append(views, stepView{s.Text, s.At.String(), s.Type})
	}
	var frame *desk.PythonFrameView
	tid := 0
	if p.Frame != nil {
		frame, tid = rootFrame(p.Frame), p.Frame.State.TID
	}
	c.Show(in, struct {
		Path  string                `json:"path"`
		Frame *desk.PythonFrameView `json:"frame,omitempty"`
		TID   int                   `json:"tid,omitempty"`
		Steps []stepView            `json:"steps"`
	}{p.Text, frame, tid, views}, func(o *screen.Output) {
		if frame != nil {
			o.Text(p.Text + "   " + rootPlace(frame, tid) + "\n")
		} else {
			o.Text(p.Text + "\n")
		}
		var rows [][]screen.Span
		for _, v := range views {
			rows = append(rows, []screen.Span{screen.Plain("  " + v.Text), screen.Guess(v.Type + " at " + v.At)})
		}
		o.Table([]screen.Column{{}, {}}, rows)
	})
	return nil
}
