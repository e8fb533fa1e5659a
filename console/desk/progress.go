package desk

import (
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"hdb/capture"
	"hdb/console/screen"
	"hdb/internal/units"
	"hdb/report"
	"hdb/session/recordings"
)

// Progress shows how far a recording is: a line on a terminal that is rewritten
// in place.
type Progress struct {
	W      io.Writer
	Width  func() int
	before recordings.RecordStatus
	at     time.Time
	shown  bool
}

// NewProgress is a progress line on the terminal f, nil if f is none.
func NewProgress(f *os.File) *Progress {
	fd := int(f.Fd())
	if !term.IsTerminal(fd) {
		return nil
	}
	return &Progress{W: f, at: time.Now(), Width: func() int {
		width, _, err := term.GetSize(fd)
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}}
}

// Show rewrites the line.
func (p *Progress) Show(st recordings.RecordStatus) {
	if p == nil {
		return
	}
	now := time.Now()
	rate := float64(st.Seen-min(st.Seen, p.before.Seen)) / max(now.Sub(p.at).Seconds(), 0.001)
	p.before, p.at = st, now
	line := ProgressLine(st, uint64(rate))
	p.write("\r" + line[:min(len(line), max(p.Width()-1, 0))] + "\x1b[K")
	p.shown = true
}

// ProgressLine is the line in words.
func ProgressLine(st recordings.RecordStatus, rate uint64) string {
	parts := []string{
		units.Grouped(rate) + " events/s", units.Count(st.Recorded, "event"), units.Short(st.LiveBytes) + " live",
	}
	if st.Recorded != st.Seen {
		parts[1] = keptEvents(st)
		parts[2] = "whole heap " + parts[2]
	}
	if st.Unfollowed {
		parts[2] = "no allocator function is known"
	}
	if st.Lost > 0 {
		parts = append(parts, units.Grouped(st.Lost)+" lost")
	}
	return strings.Join(append(parts, "file "+units.Short(st.Bytes)), ", ")
}

// Clear takes the line away, so that something else can be printed.
func (p *Progress) Clear() {
	if p != nil && p.shown {
		p.write("\r\x1b[K")
		p.shown = false
	}
}

// write ignores errors: the terminal may be gone, the recording continues.
func (p *Progress) write(s string) { _, _ = io.WriteString(p.W, s) }

// RecordSummary is the line that ends a recording to a file.
func RecordSummary(st recordings.RecordStatus, file string) string {
	live := "no block live at the end"
	if st.LiveBlocks > 0 {
		live = "live at the end " + LiveText(units.Sizes{}, st)
	}
	uncounted := report.ReasonText(capture.Reason{Kind: capture.GoHeap})
	switch {
	case st.Unfollowed:
		live = UnfollowedText
	case st.GoHeap && st.LiveBlocks == 0:
		live = uncounted
	case st.GoHeap:
		live += " of C code; " + uncounted
	}
	if st.Left > 0 { // of blocks whose events were dropped the file knows nothing
		live += ", of the whole run"
	}
	lost := ""
	if st.Lost > 0 {
		lost = ", " + units.Count(st.Lost, "call") + " lost"
	}
	return screen.Sprintf("%s: %s, %s, %s%s, with symbols and source lines: %s", file,
		keptEvents(st), units.Count(st.Stacks, "stack"), live, lost, units.Short(st.Bytes))
}

// UnfollowedText says why nothing is known of a program's blocks.
var UnfollowedText = report.ReasonText(capture.Reason{Kind: capture.NoAllocator})

// keptEvents is how many events were recorded, of how many if not all were.
func keptEvents(st recordings.RecordStatus) string {
	kept := st.Recorded
	if st.Left > 0 {
		kept = st.Left
	}
	if kept == st.Seen {
		return units.Count(kept, "event")
	}
	return units.Grouped(kept) + " of " + units.Count(st.Seen, "event")
}

// LiveText is the live heap: what is recorded of it, and the whole if that is more.
func LiveText(sizes units.Sizes, st recordings.RecordStatus) string {
	if st.KeptBlocks == st.LiveBlocks {
		return units.Blocks(sizes, st.LiveBytes, st.LiveBlocks)
	}
	return sizes.Long(st.KeptBytes) + " in " + units.Count(st.KeptBlocks, "recorded block") +
		", " + sizes.Long(st.LiveBytes) + " in all " + units.Grouped(st.LiveBlocks)
}
