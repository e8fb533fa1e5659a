package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pageFiles are the parts of pages. A page has its style, its scripts and its data
// in itself, and its policy forbids it everything else: it works without a network
// and asks for nothing.
//
//go:embed flame
var pageFiles embed.FS

// pagePart is one of pageFiles.
func pagePart(name string) string {
	b, err := pageFiles.ReadFile("flame/" + name)
	if err != nil {
		panic(err) // a name in this package
	}
	return string(b)
}

// writePage writes a page: body is its HTML, style and scripts are what it
// consists of, and data is what the scripts find in the element "data".
func writePage(w io.Writer, title, body, style string, scripts []string, data any) error {
	code := &strings.Builder{}
	code.WriteString("'use strict';\n(() => {\n")
	for _, s := range scripts {
		code.WriteString(pagePart(s))
	}
	code.WriteString("})();\n")
	css := pagePart(style)
	// encoding/json escapes <, > and &, so that nothing in it ends the element.
	text, err := json.Marshal(data)
	if err != nil {
		return err
	}
	policy := fmt.Sprintf("default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'", pageHash(code.String()), pageHash(css))
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
`, policy, html.EscapeString(pageText(title)), css, pagePart(body), text, code)
	return err
}

// pageHash is what a policy allows an inline element with that text by (CSP Level 3, 2.3.1).
func pageHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// pageLimit is how long a name on a page is at most, in bytes.
const pageLimit = 4096

// pageText is text as pages show it: without control characters, without those
// that turn the direction of what follows, and not without end.
func pageText(s string) string {
	if len(s) > pageLimit {
		s = s[:pageLimit]
		for len(s) > 0 && !utf8.RuneStart(s[len(s)-1]) {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return unicode.ReplacementChar
		}
		return r
	}, plain(s))
}

// A pageStrings numbers texts, of which each is on the page once.
type pageStrings struct {
	list  []string
	index map[string]int
}

func (s *pageStrings) of(text string) int {
	i, ok := s.index[text]
	if !ok {
		if s.index == nil {
			s.index = map[string]int{}
		}
		i = len(s.list)
		s.index[text] = i
		s.list = append(s.list, pageText(text))
	}
	return i
}

// A pageMoment is a moment as pages read it: event, seconds, bytes.
type pageMoment struct {
	Seq    uint64  `json:"seq"`
	Time   float64 `json:"time"`
	Live   uint64  `json:"live"`
	Blocks uint64  `json:"blocks,omitempty"`
}

func pageMomentOf(m Moment) pageMoment {
	return pageMoment{m.Seq, m.Time.Seconds(), m.Live, m.Blocks}
}

// pageInfo is what pages say of the recording.
type pageInfo struct {
	Title   string     `json:"title"`
	Program string     `json:"program"`
	PID     int        `json:"pid"`
	Host    string     `json:"host"`
	Start   string     `json:"start"` // "" unknown
	Created string     `json:"created"`
	Events  uint64     `json:"events"`
	Failed  uint64     `json:"failed"`
	Caveats []string   `json:"caveats,omitempty"` // warnings
	Begin   float64    `json:"begin"`             // of the recording, in seconds
	Moment  pageMoment `json:"moment"`
	Peak    pageMoment `json:"peak"`
	Measure int        `json:"measure"` // that is shown first
	Stacks  int        `json:"stacks"`
	Totals  []uint64   `json:"totals"` // by Measure
}

func (p *Profile) pageInfo(o Options) pageInfo {
	info := pageInfo{
		Title: pageText(p.Title), Program: pageText(p.Program), PID: p.PID, Host: pageText(p.Host), Created: pageText(p.Created),
		Events: p.Events, Failed: p.Failed, Begin: min(p.Begin, p.Moment.Time).Seconds(), Moment: pageMomentOf(p.Moment), Peak: pageMomentOf(p.Peak),
		Measure: int(o.Measure), Stacks: len(p.Stacks),
	}
	if !p.Start.IsZero() {
		info.Start = p.Start.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	for _, text := range p.Caveats.Lines() {
		info.Caveats = append(info.Caveats, pageText(text))
	}
	total := p.Total()
	for m := range numMeasures {
		info.Totals = append(info.Totals, m.Of(total))
	}
	return info
}
