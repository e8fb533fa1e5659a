package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"hdb/internal/units"
)

// A Text is how reports are put on a screen.
type Text struct {
	Width   int                                 // columns; 0 is no bound, and 80 for what is drawn
	Unicode bool                                // other characters than ASCII can be drawn
	Name    func(*Frame) string                 // what a function is called, nil: Frame.Function
	Fit     func(name string, width int) string // a function's name in that many columns, nil: its beginning
	Path    func(string) string                 // how a source file is shown, nil: as it is
	sizes   units.Sizes                         // of the profile
	columns *runewidth.Condition                // how wide characters are
}

// page is a report that is written line by line.
type page struct {
	*Text
	p *Profile
	b bytes.Buffer
}

func newPage(p *Profile, t Text) *page {
	t.columns, t.sizes = &runewidth.Condition{}, p.Units
	return &page{Text: &t, p: p}
}

// line adds a line, cut to the width. Foreign text in it is made printable.
func (g *page) line(format string, args ...any) {
	text := strings.TrimRight(printable(fmt.Sprintf(format, args...)), " ")
	g.b.WriteString(g.cut(text, g.Width))
	g.b.WriteByte('\n')
}

func (g *page) flush(w io.Writer) error {
	_, err := w.Write(g.b.Bytes())
	return err
}

// caveats says what makes the numbers less certain.
func (g *page) caveats() {
	for _, text := range g.p.Caveats.Lines() {
		g.sentence("! ", text)
	}
}

// cut is text of at most that number of columns; 0 is no bound.
func (g *page) cut(text string, width int) string {
	if width <= 0 || g.columns.StringWidth(text) <= width {
		return text
	}
	return g.columns.Truncate(text, width, g.pick("…", "..."))
}

// fit is a function's name in at most that many columns.
func (g *page) fit(name string, width int) string {
	if g.Fit == nil {
		return g.cut(name, width)
	}
	return g.Fit(name, width)
}

// pick chooses between what is drawn with Unicode and with ASCII.
func (g *page) pick(unicode, ascii string) string {
	if g.Unicode {
		return unicode
	}
	return ascii
}

// canvas is how many columns a drawing has.
func (g *page) canvas() int {
	if g.Width <= 0 {
		return 80
	}
	return g.Width
}

// wide is how many columns text has.
func (g *page) wide(text string) int { return g.columns.StringWidth(text) }

// left and right are text in a column of a table.
func (g *page) left(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-g.wide(text)))
}

func (g *page) right(text string, width int) string {
	return strings.Repeat(" ", max(0, width-g.wide(text))) + text
}

// table adds rows whose columns are as wide as their widest cells. All but the last columns are
// aligned right.
func (g *page) table(indent string, head []string, rows [][]string, last int) {
	all := rows
	if head != nil {
		all = append([][]string{head}, rows...)
	}
	var widths []int
	for _, row := range all {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			row[i] = printable(cell)
			widths[i] = max(widths[i], g.wide(row[i]))
		}
	}
	for _, row := range all {
		var b strings.Builder
		for i, cell := range row {
			switch {
			case i >= len(row)-last:
				cell = g.left(cell, min(widths[i], 50))
			default:
				cell = g.right(cell, widths[i])
			}
			if i > 0 {
				b.WriteString("  ")
			}
			b.WriteString(cell)
		}
		g.line("%s%s", indent, b.String())
	}
}

// name is what a frame's function is called.
func (g *page) name(f *Frame) string {
	if f == nil {
		return "(no stack)"
	}
	if g.Name != nil {
		return printable(g.Name(f))
	}
	return printable(f.Function)
}

// where is the place of a frame; line 0 are several.
func (g *page) where(f *Frame, line int) string {
	switch {
	case f == nil:
		return ""
	case f.File != "":
		file := f.File
		if g.Path != nil {
			file = g.Path(file)
		}
		if line > 0 {
			file += ":" + strconv.Itoa(line)
		}
		return printable(file)
	case f.Module >= 0 && f.Module < len(g.p.Modules):
		return "[" + printable(path.Base(g.p.Modules[f.Module].Path)) + "]"
	}
	return ""
}

// amount is a number of what a measure counts.
func (m Measure) amount(sizes units.Sizes, n uint64) string {
	if m.IsBytes() {
		return sizes.Short(n)
	}
	return units.Grouped(n)
}

// rate is a number for each second of the duration, 0 without one.
func rate(n uint64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return float64(n) / d.Seconds()
}

// A Place is where blocks were allocated: the function of the user's that allocs
// and top show, or a line of it.
type Place struct {
	frame    *Frame // one of those with the function; nil: no stack was recorded
	Function string
	Linkage  string
	File     string
	Line     int // 0: several, or unknown
	Module   string
	Numbers
}

func (a *Place) sameFunction(b *Place) bool {
	return a.Function == b.Function && a.Linkage == b.Linkage && a.File == b.File && a.Module == b.Module
}

// numbersView is Numbers in JSON.
type numbersView struct {
	Allocs     uint64 `json:"allocations"`
	Bytes      uint64 `json:"allocated_bytes"`
	Live       uint64 `json:"live_bytes"`
	LiveBlocks uint64 `json:"live_blocks"`
	Peak       uint64 `json:"peak_bytes"`
	PeakBlocks uint64 `json:"peak_blocks"`
	Temporary  uint64 `json:"temporary_blocks"`
}

// MarshalJSON spells the names as the console does.
func (a Place) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Function string `json:"function"`
		Linkage  string `json:"linkage,omitempty"`
		File     string `json:"file,omitempty"`
		Line     int    `json:"line,omitempty"`
		Module   string `json:"module,omitempty"`
		numbersView
	}{a.Function, a.Linkage, a.File, a.Line, a.Module, numbersView(a.Numbers)})
}

// site is the frame that represents a stack, nil without frames.
func (p *Profile) site(st *Stack) *Frame {
	if len(st.Frames) == 0 {
		return nil
	}
	return &p.Frames[st.Frames[st.Site]]
}

// places adds up the stacks by the functions that they are shown at, or by their
// lines.
func (p *Profile) places(lines bool) []Place {
	type key struct {
		function, linkage, file, module string
		line                            int
	}
	index := map[key]int{}
	var all []Place
	for i := range p.Stacks {
		st := &p.Stacks[i]
		f := p.site(st)
		k := key{}
		if f != nil {
			k = key{f.Function, f.Linkage, f.File, p.ModulePath(f), f.Line}
		}
		if !lines {
			k.line = 0
		}
		at, ok := index[k]
		if !ok {
			at = len(all)
			index[k] = at
			all = append(all, p.place(f))
		}
		a := &all[at]
		if f != nil && f.Line != a.Line {
			a.Line = 0
		}
		a.Numbers.Add(st.Numbers)
	}
	return all
}

func (p *Profile) place(f *Frame) Place {
	if f == nil {
		return Place{Function: "(no stack)"}
	}
	return Place{frame: f, Function: f.Function, Linkage: f.Linkage, File: f.File, Line: f.Line, Module: p.ModulePath(f)}
}

// largest are the n places with most of a measure, if they have any.
func largest(all []Place, m Measure, n int) []Place {
	some := slices.DeleteFunc(slices.Clone(all), func(a Place) bool { return m.Of(a.Numbers) == 0 })
	slices.SortStableFunc(some, func(a, b Place) int {
		return cmp.Or(cmp.Compare(m.Of(b.Numbers), m.Of(a.Numbers)), cmp.Compare(a.Function, b.Function), cmp.Compare(a.Line, b.Line))
	})
	return some[:min(n, len(some))]
}
