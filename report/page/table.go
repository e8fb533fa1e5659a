package page

import (
	"cmp"
	"io"
	"slices"

	"hdb/report"
)

// tableRows is how many functions a page lists at most; the rest are one row.
const tableRows = 20000

// Marks of rows on the page.
const (
	tableLibrary = 1 << iota
	tableGuess
	tableSymtab
)

// A tableData is the data of the page.
type tableData struct {
	info
	Strings []string   `json:"strings"`
	Rows    []tableRow `json:"rows"`
	Small   int        `json:"small"` // functions in the last row; 0: none
}

type tableRow struct {
	Function int      `json:"f"` // of strings
	File     int      `json:"p"`
	Line     int      `json:"l"`
	Module   int      `json:"m"`
	Marks    int      `json:"k"`
	Own      []uint64 `json:"o"` // by Measure
	Total    []uint64 `json:"t"`
}

// WriteTable writes a page with a table of functions that can be sorted and
// searched, at first by the measure.
func WriteTable(w io.Writer, p *report.Profile, first report.Measure) error {
	p = p.Counted()
	data := tableData{info: infoOf(p, first), Rows: []tableRow{}}
	text := newStringTable()
	rows := p.Functions()
	if len(rows) > tableRows {
		total := p.Total()
		slices.SortStableFunc(rows, func(a, b *report.Row) int {
			return cmp.Compare(largestShare(b.Total, total), largestShare(a.Total, total))
		})
	}
	for _, r := range rows[:min(len(rows), tableRows)] {
		data.Rows = append(data.Rows, tableRow{text.number(r.Function), text.number(r.File), r.Line, text.number(r.Module), rowMarks(r), numbers(r.Own), numbers(r.Total)})
	}
	if len(rows) > tableRows {
		var own, most report.Numbers
		for _, r := range rows[tableRows:] {
			own.Add(r.Own)
			most = highest(most, r.Total)
		}
		data.Small = len(rows) - tableRows
		data.Rows = append(data.Rows, tableRow{Own: numbers(own), Total: numbers(highest(own, most))})
	}
	data.Strings = text.list
	d := document{title: p.Title + " - functions", body: webFile("table.html"), style: "table.css", scripts: []string{"common.js", "table.js"}, data: &data}
	return d.write(w)
}

func rowMarks(r *report.Row) (marks int) {
	if r.Library {
		marks |= tableLibrary
	}
	if r.Guess {
		marks |= tableGuess
	}
	if r.Symtab {
		marks |= tableSymtab
	}
	return marks
}

// largestShare is the largest share that one of the numbers has of its total.
func largestShare(n, total report.Numbers) float64 {
	most := 0.0
	for m := range report.Measure(numMeasures) {
		if all := m.Of(total); all > 0 {
			most = max(most, float64(m.Of(n))/float64(all))
		}
	}
	return most
}

// highest has the larger one of every number: what several functions have in total is not known
// from what each of them has.
func highest(n, o report.Numbers) report.Numbers {
	return report.Numbers{
		Allocs: max(n.Allocs, o.Allocs), Bytes: max(n.Bytes, o.Bytes), Live: max(n.Live, o.Live), LiveBlocks: max(n.LiveBlocks, o.LiveBlocks),
		Peak: max(n.Peak, o.Peak), PeakBlocks: max(n.PeakBlocks, o.PeakBlocks), Temporary: max(n.Temporary, o.Temporary),
	}
}
