package report

import (
	"cmp"
	"io"
	"slices"
)

// tableRows is how many functions a page lists at most; the rest are one row.
const tableRows = 20000

// Marks of rows on the page.
const (
	tableLibrary = 1 << iota
	tableGuess
	tableSymtab
)

// A tablePage is the data of the page.
type tablePage struct {
	pageInfo
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

// numbersOf are numbers by Measure.
func numbersOf(n Numbers) []uint64 {
	var out []uint64
	for m := range numMeasures {
		out = append(out, m.Of(n))
	}
	return out
}

// WriteTableHTML writes a page with a table of functions that can be sorted and
// searched.
func WriteTableHTML(w io.Writer, p *Profile, o Options) error {
	page := tablePage{pageInfo: p.pageInfo(o), Rows: []tableRow{}}
	text := pageStrings{}
	text.of("")
	rows := p.Functions()
	if len(rows) > tableRows {
		total := p.Total()
		share := func(r *Row) float64 { // the largest one
			most := 0.0
			for m := range numMeasures {
				if all := m.Of(total); all > 0 {
					most = max(most, float64(m.Of(r.Total))/float64(all))
				}
			}
			return most
		}
		slices.SortStableFunc(rows, func(a, b *Row) int { return cmp.Compare(share(b), share(a)) })
	}
	for _, r := range rows[:min(len(rows), tableRows)] {
		marks := 0
		if r.Library {
			marks |= tableLibrary
		}
		if r.Guess {
			marks |= tableGuess
		}
		if r.Symtab {
			marks |= tableSymtab
		}
		page.Rows = append(page.Rows, tableRow{text.of(r.Function), text.of(r.File), r.Line, text.of(r.Module), marks, numbersOf(r.Own), numbersOf(r.Total)})
	}
	if len(rows) > tableRows {
		var own, most Numbers
		for _, r := range rows[tableRows:] {
			own.Add(r.Own)
			most = most.highest(r.Total)
		}
		page.Small = len(rows) - tableRows
		page.Rows = append(page.Rows, tableRow{Own: numbersOf(own), Total: numbersOf(own.highest(most))})
	}
	page.Strings = text.list
	return writePage(w, p.Title+" - functions", "table.html", "table.css", []string{"common.js", "table.js"}, &page)
}

// highest has the larger one of each of the numbers: what several functions have
// in total is not known from what each of them has.
func (n Numbers) highest(o Numbers) Numbers {
	return Numbers{
		Allocs: max(n.Allocs, o.Allocs), Bytes: max(n.Bytes, o.Bytes), Live: max(n.Live, o.Live), LiveBlocks: max(n.LiveBlocks, o.LiveBlocks),
		Peak: max(n.Peak, o.Peak), PeakBlocks: max(n.PeakBlocks, o.PeakBlocks), Temporary: max(n.Temporary, o.Temporary),
	}
}
