package report

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hdb/internal/units"
)

// Bounds of a SARIF log, below what services that show them take.
const (
	sarifResults = 500
	sarifFrames  = 50 // of a stack
)

// leakWarning is the share of all live bytes from which on a leak is a warning;
// below it is a note.
const leakWarning = 0.05

// sarifRules are what results may be of, in the order of ruleIndex.
var sarifRules = []struct{ id, name, text string }{
	{"leak", "Leak", "Memory that was allocated here is still allocated at the end."},
	{"against-peak", "PeakRose", "More bytes are live at once than in an earlier recording."},
	{"max-peak", "PeakTooHigh", "More bytes are live at once than allowed."},
	{"max-allocs", "TooManyAllocations", "More blocks are allocated than allowed."},
	{"max-leaked", "LeaksTooMuch", "More bytes are live at the end than allowed."},
	{"max-live-growth", "GrowsTooMuch", "The live bytes grow more than allowed."},
	{"max-temporary", "TooManyTemporaryAllocations", "More blocks are freed before the next allocation than allowed."},
}

// WriteSARIF writes the blocks that are live as a SARIF 2.1.0 log: a result for
// each line of the user's and the functions on the way to it, the largest first. A
// notification says what is not among them: what language runtimes keep for
// themselves, what Go's collector frees, and what there is no place for.
func WriteSARIF(w io.Writer, p *Profile, o Options) error {
	log := newSARIF(p, o)
	k := p.remaining(&Limits{}, p.collected())
	level := func(f *finding) string {
		if float64(f.weight) >= leakWarning*float64(k.counted.Live) {
			return "warning"
		}
		return "note"
	}
	log.leaks(p.findings(func(i int, st *Stack) (uint64, uint64) {
		if !k.counts[i] {
			return 0, 0
		}
		return st.Live, st.LiveBlocks
	}), level)
	if k.own.LiveBlocks > 0 {
		log.note("%s kept by language runtimes for themselves are left out.", units.Blocks(p.Units, k.own.Live, k.own.LiveBlocks))
	}
	if k.collected.LiveBlocks > 0 {
		log.note("%s of Go are left out: they are live until a garbage collection has found them dead.", units.Blocks(p.Units, k.collected.Live, k.collected.LiveBlocks))
	}
	return log.write(w)
}

// The parts of SARIF that are used, by the names of its specification.
type (
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifArtifact struct {
		URI       string `json:"uri"`
		URIBaseID string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
	sarifPhysical struct {
		ArtifactLocation sarifArtifact `json:"artifactLocation"`
		Region           *sarifRegion  `json:"region,omitempty"`
	}
	sarifLogical struct {
		Name               string `json:"name"`
		FullyQualifiedName string `json:"fullyQualifiedName"`
		DecoratedName      string `json:"decoratedName,omitempty"`
		Kind               string `json:"kind"`
	}
	sarifLocation struct {
		PhysicalLocation *sarifPhysical `json:"physicalLocation,omitempty"`
		LogicalLocations []sarifLogical `json:"logicalLocations,omitempty"`
		Message          *sarifMessage  `json:"message,omitempty"`
	}
	sarifFrame struct {
		Location sarifLocation `json:"location"`
		Module   string        `json:"module,omitempty"`
	}
	sarifStack struct {
		Message *sarifMessage `json:"message,omitempty"`
		Frames  []sarifFrame  `json:"frames"`
	}
	sarifResult struct {
		RuleID              string            `json:"ruleId"`
		RuleIndex           int               `json:"ruleIndex"`
		Level               string            `json:"level"`
		Message             sarifMessage      `json:"message"`
		Locations           []sarifLocation   `json:"locations,omitempty"`
		Stacks              []sarifStack      `json:"stacks,omitempty"`
		PartialFingerprints map[string]string `json:"partialFingerprints,omitempty"`
		Properties          map[string]any    `json:"properties,omitempty"`
	}
	sarifNotification struct {
		Level   string       `json:"level"`
		Message sarifMessage `json:"message"`
	}
)

// A sarifLog collects results.
type sarifLog struct {
	p       *Profile
	root    string // "" or absolute
	results []sarifResult
	notes   []sarifNotification

	suppressed *Suppressed // nil without suppressions
}

func newSARIF(p *Profile, o Options) *sarifLog {
	l := &sarifLog{p: p, results: []sarifResult{}}
	if path.IsAbs(o.Root) {
		l.root = path.Clean(o.Root)
	}
	for _, text := range p.Caveats.Lines() {
		l.note("%s.", text)
	}
	return l
}

func (l *sarifLog) note(format string, args ...any) {
	l.notes = append(l.notes, sarifNotification{"warning", sarifText(fmt.Sprintf(format, args...))})
}

// leaks adds the live blocks of stacks.
func (l *sarifLog) leaks(all []finding, level func(*finding) string) {
	for i := range all {
		f := &all[i]
		if i == sarifResults {
			l.rest(all[i:], "bytes")
			return
		}
		l.add("leak", level(f), fmt.Sprintf("%s never freed%s.", units.Blocks(l.p.Units, f.weight, f.blocks), f.others(l.p, "bytes")), f)
	}
}

// rest says what the results leave out.
func (l *sarifLog) rest(all []finding, unit string) {
	var weight uint64
	for i := range all {
		weight += all[i].weight
	}
	amount := units.Count(weight, "block")
	if unit == "bytes" {
		amount = l.p.Units.Long(weight)
	}
	l.note("%d further places with %s are left out.", len(all), amount)
}

// add adds a result, of a place or, without one, of the program.
func (l *sarifLog) add(rule, level, text string, f *finding) {
	r := sarifResult{RuleID: rule, Level: level, Message: sarifText(text)}
	for i := range sarifRules {
		if sarifRules[i].id == rule {
			r.RuleIndex = i
		}
	}
	if f == nil {
		r.Locations = []sarifLocation{{PhysicalLocation: l.artifact(l.p.Program, 0)}}
		l.results = append(l.results, r)
		return
	}
	r.PartialFingerprints = map[string]string{"functions/v1": f.fingerprint}
	r.Properties = map[string]any{"weight": f.weight, "blocks": f.blocks}
	r.Locations = []sarifLocation{l.place(f.stack)}
	r.Stacks = []sarifStack{l.stack(f.stack)}
	l.results = append(l.results, r)
}

// place is where a stack is shown.
func (l *sarifLog) place(st *Stack) sarifLocation {
	loc := sarifLocation{}
	if f := l.p.site(st); f != nil {
		loc = l.location(f)
	}
	if loc.PhysicalLocation == nil { // without one services show nothing
		loc.PhysicalLocation = l.artifact(l.p.Program, 0)
	}
	return loc
}

func (l *sarifLog) location(f *Frame) sarifLocation {
	name := printable(f.Function)
	loc := sarifLocation{LogicalLocations: []sarifLogical{{Name: name, FullyQualifiedName: name, DecoratedName: printable(f.Linkage), Kind: "function"}}}
	switch {
	case f.File != "":
		loc.PhysicalLocation = l.artifact(f.File, f.Line)
	case f.Module >= 0 && f.Module < len(l.p.Modules) && l.p.Modules[f.Module].Path != "":
		loc.PhysicalLocation = l.artifact(l.p.Modules[f.Module].Path, 0)
	}
	return loc
}

// artifact is a file, relative to the root if it is below.
func (l *sarifLog) artifact(file string, line int) *sarifPhysical {
	if file == "" {
		return nil
	}
	phys := &sarifPhysical{}
	clean := path.Clean(file)
	below, ok := strings.CutPrefix(clean, strings.TrimSuffix(l.root, "/")+"/")
	switch {
	case !path.IsAbs(clean):
		phys.ArtifactLocation.URI = (&url.URL{Path: clean}).String()
	case l.root != "" && ok:
		phys.ArtifactLocation = sarifArtifact{(&url.URL{Path: below}).String(), "ROOT"}
	default:
		phys.ArtifactLocation.URI = (&url.URL{Scheme: "file", Path: clean}).String()
	}
	if line > 0 {
		phys.Region = &sarifRegion{line}
	}
	return phys
}

func (l *sarifLog) stack(st *Stack) sarifStack {
	out := sarifStack{Frames: []sarifFrame{}}
	inner, outer := st.Folded()
	frames := st.Frames[inner:outer]
	var left []string
	if over := len(frames) - sarifFrames; over > 0 {
		frames = frames[:sarifFrames]
		left = append(left, fmt.Sprintf("%d further frames left out", over))
	}
	for _, i := range frames {
		f := &l.p.Frames[i]
		frame := sarifFrame{Location: l.location(f)}
		if f.Inlined {
			frame.Location.Message = new(sarifText("inlined"))
		}
		if f.Module >= 0 && f.Module < len(l.p.Modules) {
			frame.Module = printable(path.Base(l.p.Modules[f.Module].Path))
		}
		out.Frames = append(out.Frames, frame)
	}
	if inner > 0 {
		left = append(left, units.Count(inner, "frame")+" of allocators and libraries left out")
	}
	if st.Outer > 0 {
		left = append(left, fmt.Sprintf("%d outer frames of %s left out", st.Outer, st.Callers))
	}
	if st.Truncated != "" {
		left = append(left, "outer frames are missing: "+st.Truncated)
	}
	if len(left) > 0 {
		out.Message = new(sarifText(strings.Join(left, "; ")))
	}
	return out
}

// write writes the log.
func (l *sarifLog) write(w io.Writer) error {
	type rule struct {
		ID               string       `json:"id"`
		Name             string       `json:"name"`
		ShortDescription sarifMessage `json:"shortDescription"`
	}
	type driver struct {
		Name    string `json:"name"`
		Version string `json:"version,omitempty"`
		Rules   []rule `json:"rules"`
	}
	type invocation struct {
		ExecutionSuccessful        bool                `json:"executionSuccessful"`
		ToolExecutionNotifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	type run struct {
		Tool struct {
			Driver driver `json:"driver"`
		} `json:"tool"`
		Invocations        []invocation             `json:"invocations"`
		OriginalURIBaseIDs map[string]sarifArtifact `json:"originalUriBaseIds,omitempty"`
		Results            []sarifResult            `json:"results"`
		Properties         map[string]any           `json:"properties"`
	}
	var r run
	r.Tool.Driver = driver{Name: "hdb", Version: printable(l.p.Created)}
	for _, k := range sarifRules {
		r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, rule{k.id, k.name, sarifMessage{k.text}})
	}
	r.Invocations = []invocation{{true, l.notes}}
	if l.root != "" {
		r.OriginalURIBaseIDs = map[string]sarifArtifact{"ROOT": {URI: (&url.URL{Scheme: "file", Path: strings.TrimSuffix(l.root, "/") + "/"}).String()}}
	}
	r.Results = l.results
	r.Properties = map[string]any{"program": printable(l.p.Title), "pid": l.p.PID, "recorded": l.p.Start.UTC().Format(time.RFC3339), "events": l.p.Events}
	if l.suppressed != nil {
		r.Properties["suppressions"] = l.suppressed.sarif()
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	return e.Encode(struct {
		Schema  string `json:"$schema"`
		Version string `json:"version"`
		Runs    []run  `json:"runs"`
	}{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []run{r}})
}

// sarifText is a plain text message: SARIF gives a meaning to brackets (links) and
// braces (arguments), SARIF 2.1.0 sections 3.11.5 and 3.11.6.
func sarifText(s string) sarifMessage {
	return sarifMessage{strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "{", "{{", "}", "}}").Replace(printable(s))}
}

// printable is a foreign text without what is no text.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			return '\uFFFD'
		}
		return r
	}, s)
}
