// Package page writes what a recording adds up to as pages for a browser: flame
// graphs, tables of functions, and the heap over time. A page is one file that has
// all it shows in itself and asks the network for nothing.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode/utf8"

	"hdb/report"
)

// webFiles are the parts of pages.
//
//go:embed web
var webFiles embed.FS

// webFile is one of webFiles.
func webFile(name string) string {
	b, err := webFiles.ReadFile("web/" + name)
	if err != nil {
		panic(err) // a name in this package
	}
	return string(b)
}

// A document is a page: its parts, and what the scripts find in the element "data".
type document struct {
	title   string
	body    string   // HTML
	style   string   // one of webFiles
	scripts []string // of webFiles, one after the other in one function
	data    any
}

// write writes the page. Its policy forbids it everything but its own style and script.
func (d *document) write(w io.Writer) error {
	code := &strings.Builder{}
	code.WriteString("'use strict';\n(() => {\n")
	for _, s := range d.scripts {
		code.WriteString(webFile(s))
	}
	code.WriteString("})();\n")
	css := webFile(d.style)
	// encoding/json escapes <, > and &, so that nothing in it ends the element.
	text, err := json.Marshal(d.data)
	if err != nil {
		return err
	}
	policy := fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'", sourceHash(code.String()), sourceHash(css))
	_, err = fmt.Fprintf(w, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>%s</title>
<style>%s</style>
</head>
<body>
%s<script type="application/json" id="data">%s</script>
<script>%s</script>
</body>
</html>
`, policy, markup(d.title), css, d.body, text, code)
	return err
}

// sourceHash is how a policy names an inline element with that text (CSP Level 3, 2.3.1).
func sourceHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// markup is foreign text in HTML.
func markup(s string) string { return html.EscapeString(shown(s)) }

// maxText is how long a name on a page is at most, in bytes.
const maxText = 4096

// shown is text as pages show it: without characters that cannot be seen or that turn
// the direction of what follows, and cut where it is very long.
func shown(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return report.Plain(s)
}

// A stringTable numbers texts, so that the page has each of them once.
type stringTable struct {
	list  []string
	index map[string]int
}

func newStringTable() *stringTable {
	return &stringTable{list: []string{""}, index: map[string]int{"": 0}}
}

func (s *stringTable) number(text string) int {
	i, ok := s.index[text]
	if !ok {
		i = len(s.list)
		s.index[text] = i
		s.list = append(s.list, shown(text))
	}
	return i
}

// A moment is a moment as pages read it: event, seconds, bytes.
type moment struct {
	Seq    uint64  `json:"seq"`
	Time   float64 `json:"time"`
	Live   uint64  `json:"live"`
	Blocks uint64  `json:"blocks,omitempty"`
	Mapped uint64  `json:"mapped,omitempty"` // bytes besides, of the program's own mappings: told of the peak
}

func momentOf(m report.Moment) moment {
	return moment{m.Seq, m.Time.Seconds(), m.Live, m.Blocks, 0}
}

// info is what pages say of the recording.
type info struct {
	Title   string   `json:"title"`
	Program string   `json:"program"`
	PID     int      `json:"pid"`
	Host    string   `json:"host"`
	Start   string   `json:"start"` // "" unknown
	Created string   `json:"created"`
	Events  uint64   `json:"events"`
	Failed  uint64   `json:"failed"`
	Caveats []string `json:"caveats,omitempty"` // warnings
	Begin   float64  `json:"begin"`             // of the recording, in seconds
	Moment  moment   `json:"moment"`
	Peak    moment   `json:"peak"`
	Measure int      `json:"measure"` // that is shown first
	Stacks  int      `json:"stacks"`
	Totals  []uint64 `json:"totals"` // by Measure
	Raw     bool     `json:"raw"`    // sizes are shown as bytes, without units
}

func infoOf(p *report.Profile, first report.Measure) info {
	i := info{
		Title: shown(p.Title), Program: shown(p.Program), PID: p.PID, Host: shown(p.Host), Created: shown(p.Created),
		Events: p.Events, Failed: p.Failed, Begin: min(p.Begin, p.Moment.Time).Seconds(), Moment: momentOf(p.Moment), Peak: momentOf(p.Peak),
		Measure: int(first), Stacks: len(p.Stacks), Totals: numbers(p.Total()), Raw: p.Units.Raw,
	}
	i.Peak.Mapped = p.PeakMapped.Bytes
	if !p.Start.IsZero() {
		i.Start = p.Start.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	for _, text := range p.Caveats.Lines() {
		i.Caveats = append(i.Caveats, shown(text))
	}
	return i
}

// numMeasures is how many numbers pages have of each stack.
const numMeasures = len(report.Measures)

// numbers are n by Measure.
func numbers(n report.Numbers) []uint64 {
	out := make([]uint64, numMeasures)
	for m := range out {
		out[m] = report.Measure(m).Of(n)
	}
	return out
}
