package report

import (
	"io"
	"slices"
)

// A Format is a form of other tools in which a profile can be written.
type Format struct {
	Name      string // the word after export
	Extension string // of its file or directory, with the dot
	Short     string // what it is, and what reads it
	Text      bool   // fit for a terminal or a pipe
	Code      bool   // makes use of Module.Code
	Line      bool   // draws Profile.Timeline
	Snapshots bool   // writes Profile.Snapshots
	Places    bool   // takes Options.Lines
	Parts     bool   // can be of a part of the recording, and have a stack several times, for threads
	Slots     bool   // has a stack several times, for the sizes of slots in Go's heap
	Blocks    bool   // its numbers are of blocks alone, see query.ProfileParts
	Collected bool   // blocks that a garbage collection frees are distinguished in it, see query.ProfileParts

	// One of these writes it: what a recording adds up to, all of a recording, or
	// that as files of a directory.
	Write  func(w io.Writer, p *Profile, o Options) error
	Events func(w io.Writer, r *Recording) error
	Tables func(dir string, r *Recording) error
}

// Options are what the user may choose of a file.
type Options struct {
	// Measure is drawn where a format has one number for each stack, and shown
	// first where it has several.
	Measure Measure
	// Lines has functions be distinguished by their lines where a format has only texts for them.
	Lines bool
	// Root is a folder below which paths of sources are written relative to it,
	// absolute; "" for none.
	Root string
	// Recording has the events of the profile, for what sums do not tell; nil
	// where there are only sums.
	Recording *Recording
}

// Formats are all there are, in the order in which help lists them.
func Formats() []Format {
	return []Format{
		{Name: "pprof", Extension: ".pb.gz", Short: "a profile.proto, for go tool pprof, Pyroscope, Parca, Grafana", Code: true, Parts: true, Slots: true, Write: WritePprof},
		{Name: "collapsed", Extension: ".collapsed", Short: "a line for each stack, for flamegraph.pl, inferno, speedscope", Text: true, Places: true, Parts: true, Write: WriteCollapsed},
		{Name: "speedscope", Extension: ".speedscope.json", Short: "a profile for each measure, for speedscope.app", Text: true, Parts: true, Write: WriteSpeedscope},
		{Name: "firefox", Extension: ".firefox.json", Short: "a thread for each measure, the heap over time and its events, for profiler.firefox.com", Text: true, Line: true, Parts: true, Write: WriteFirefox},
		{Name: "dhat", Extension: ".dhat.json", Short: "lifetimes, peak and end of each stack's blocks, for valgrind's dh_view.html", Text: true, Blocks: true, Write: WriteDHAT},
		{Name: "massif", Extension: ".massif", Short: "the heap at up to 64 moments and the stacks at some, for ms_print, massif-visualizer", Text: true, Snapshots: true, Parts: true, Blocks: true, Write: WriteMassif},
		{Name: "ndjson", Extension: ".ndjson", Short: "all events, stacks, frames and modules as JSON objects, one a line: jq, scripts", Text: true, Events: WriteNDJSON},
		{Name: "parquet", Extension: ".parquet", Short: "all events, stacks, frames and modules as tables in a directory, which many recordings can share: DuckDB, Spark, ClickHouse, pandas", Tables: WriteParquet},
		{Name: "sarif", Extension: ".sarif", Short: "blocks that are still allocated, at the user's lines: code scanning, editors", Text: true, Collected: true, Write: WriteSARIF},
	}
}

// FindFormat is the format of that name.
func FindFormat(name string) (Format, bool) {
	all := Formats()
	i := slices.IndexFunc(all, func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return all[i], true
}

// FindMeasure is the measure of that name.
func FindMeasure(name string) (Measure, bool) {
	i := slices.Index(Measures[:], name)
	return Measure(max(i, 0)), i >= 0
}

// Title says what the measure counts, for readers that do not know hdb's words.
func (m Measure) Title() string {
	return [numMeasures]string{
		"live: bytes not freed", "peak: bytes live at the peak", "bytes: all that were allocated",
		"count: blocks allocated", "temporary: blocks freed before another was allocated", "blocks: not freed",
	}[m]
}
