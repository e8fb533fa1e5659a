package report

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"hdb/internal/units"
)

// A Row is what the stacks of a function add up to.
type Row struct {
	Function string
	File     string
	Line     int    // where most was allocated below the function, 0 unknown
	Module   string // path
	Library  bool   // in all its stacks: see Frame
	Guess    bool   // the unwinder guessed each of its frames
	Symtab   bool   // named by a symbol table
	Own      Numbers
	Total    Numbers
	lines    map[int]uint64 // bytes
}

// Functions are the functions of the profile. Own is of the stacks in which the
// function has the block, so that the rows add up to the
// profile; Total of all in which it occurs, however often it does.
func (p *Profile) Functions() []*Row {
	type key struct{ function, file, module string }
	rows, order := map[key]*Row{}, []*Row{}
	of := func(k key) *Row {
		r, ok := rows[k]
		if !ok {
			r = &Row{Function: k.function, File: k.file, Module: k.module, Library: true, Guess: true, Symtab: true, lines: map[int]uint64{}}
			rows[k] = r
			order = append(order, r)
		}
		return r
	}
	frames := make([]*Row, len(p.Frames))
	last := map[*Row]int{} // the stack that counts already, by its number from 1
	for i := range p.Stacks {
		s := &p.Stacks[i]
		own := p.own(s)
		if own < 0 {
			r := of(key{function: s.Placeholder()})
			r.Library, r.Guess, r.Symtab = false, false, false
			r.Own.Add(s.Numbers)
			r.Total.Add(s.Numbers)
			continue
		}
		for k, index := range s.Frames {
			f := &p.Frames[index]
			if frames[index] == nil {
				frames[index] = of(key{f.Function, f.File, p.ModulePath(f)})
			}
			r := frames[index]
			r.Library, r.Guess, r.Symtab = r.Library && f.Library, r.Guess && f.Guess, r.Symtab && !f.Known
			if k == own {
				r.Own.Add(s.Numbers)
			}
			if last[r] == i+1 {
				continue
			}
			last[r] = i + 1
			r.Total.Add(s.Numbers)
			r.lines[f.Line] += s.Bytes
		}
	}
	for _, r := range order {
		most := uint64(0)
		for line, n := range r.lines {
			if n > most || n == most && (r.Line == 0 || line < r.Line) {
				r.Line, most = line, n
			}
		}
	}
	return order
}

// own is the index of the frame that the blocks of a stack belong to, -1 without frames.
func (p *Profile) own(s *Stack) int {
	if len(s.Frames) == 0 {
		return -1
	}
	return s.Site
}

// Sorted are the functions by their own numbers and the measure, largest first.
func (p *Profile) Sorted(m Measure) []*Row {
	rows := p.Functions()
	slices.SortStableFunc(rows, func(a, b *Row) int {
		return cmp.Or(cmp.Compare(m.Of(b.Own), m.Of(a.Own)), cmp.Compare(m.Of(b.Total), m.Of(a.Total)), cmp.Compare(a.Function, b.Function), cmp.Compare(a.File, b.File))
	})
	return rows
}

// WriteTable writes functions as columns of text: own and total of the measure,
// and what they have of the others. At most limit of them, those with the largest
// numbers; 0 is no limit.
func WriteTable(w io.Writer, p *Profile, o Options, limit int) error {
	mapped := p.mappedBy(o.Measure)
	p = p.Counted()
	rows := slices.DeleteFunc(p.Sorted(o.Measure), func(r *Row) bool { return !o.Measure.nonZero(r.Total) })
	out := bufio.NewWriter(w)
	total := p.Total()
	fmt.Fprintf(out, "%s\n", Plain(p.Title))
	fmt.Fprintf(out, "own and total by %s; of all: %s", o.Measure.Title(), o.Measure.amount(p.Units, o.Measure.Of(total)))
	if mapped.Count > 0 {
		fmt.Fprintf(out, ", %s of it in %s", p.Units.Short(mapped.Bytes), units.Count(mapped.Count, "mapping"))
	}
	fmt.Fprint(out, "\n\n")
	others := slices.DeleteFunc([]Measure{Live, Bytes, Allocs, Temporary}, func(m Measure) bool { return m == o.Measure })
	tab := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	heads := []string{"own", "", "total", ""}
	for _, m := range others {
		heads = append(heads, m.String())
	}
	fmt.Fprintf(tab, "%s\t  function\n", strings.Join(heads, "\t"))
	shown := rows
	if limit > 0 {
		shown = rows[:min(limit, len(rows))]
	}
	for _, r := range shown {
		own, all := o.Measure.Of(r.Own), o.Measure.Of(r.Total)
		cells := []string{o.Measure.amount(p.Units, own), units.Percent(own, o.Measure.Of(total)), o.Measure.amount(p.Units, all), units.Percent(all, o.Measure.Of(total))}
		for _, m := range others {
			cells = append(cells, m.amount(p.Units, m.Of(r.Total)))
		}
		fmt.Fprintf(tab, "%s\t  %s\n", strings.Join(cells, "\t"), cell(r))
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	if len(shown) < len(rows) {
		fmt.Fprintf(out, "\n%s of %s\n", units.Grouped(len(shown)), units.Count(len(rows), "function"))
	}
	for _, text := range p.Caveats.Lines() {
		fmt.Fprintf(out, "\n%s\n", Plain(text))
	}
	return out.Flush()
}

// cell names a function and its place on a line.
func cell(r *Row) string {
	place := ""
	switch {
	case r.File != "" && r.Line > 0:
		place = fmt.Sprintf("  %s:%d", baseName(r.File), r.Line)
	case r.File != "":
		place = "  " + baseName(r.File)
	case r.Module != "":
		place = "  [" + baseName(r.Module) + "]"
	}
	return Plain(r.Function + place)
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
