package stopped

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"hdb/breakpoints"
	"hdb/internal/addr"
	"hdb/internal/units"
	"hdb/internal/when"
	"hdb/names"
	"hdb/recording"
	"hdb/report"
	"hdb/session/target"
)

// A GoAllocation is what is known of an allocation of a Go program in addition to its call.
type GoAllocation struct {
	Type      string       // of the block, "" if the runtime was not told
	Goroutine uint64       // that allocates, 0 unknown
	Creator   *names.Frame // the go statement that made the goroutine; nil: the first, or unknown
}

// Met is a condition on state that has become true.
type Met struct {
	Stop  *breakpoints.Stop
	Event *recording.Event // that has made it true
	Why   when.Why         // the numbers behind it
	Doubt report.Doubt     // why they may not be those of a process that hdb attached to
	// Late tells that the process ran on before it was stopped, for Behind events; Ended that it has
	// ended before that.
	Late   bool
	Ended  bool
	Behind uint64
	Thread int           // that made the event, 0 if it is not known
	Frames []names.Frame // of the event, up to the user's code, if it is recorded
}

// LeftBlocks are the live blocks that a call has made which has ended.
type LeftBlocks struct {
	Function string
	Left     bool // by an exception or longjmp, in place of a return
	Blocks   int
	Bytes    uint64
	Sites    []LeftSite // where they were made, the most bytes first
	Unknown  int        // blocks of which nothing is recorded

	Kept []when.Kept
}

// A LeftSite is a function and line that has made blocks of a call.
type LeftSite struct {
	Frame  names.Frame
	First  *recording.Event // that has made the first
	Blocks int
	Bytes  uint64
}

// text is the headline of the stop.
func (l *LeftBlocks) text(sizes units.Sizes) string {
	how := "returned"
	if l.Left {
		how = "was left by an exception or longjmp"
	}
	return fmt.Sprintf("%s %s: %s that it made are live", l.Function, how, units.Blocks(sizes, l.Bytes, l.Blocks))
}

// WatchHit is what a watchpoint saw.
type WatchHit struct {
	Addr     addr.Run
	Size     int
	Old, New []byte // New is nil where the memory is no more
	Merged   bool   // the change of another thread's hit may include the write

	// Of a watched expression with a type, the name and both values; "" otherwise.
	Name, OldText, NewText string
	// Parts are its smallest parts that have changed, one more than are to be shown if
	// there are more of them.
	Parts []WatchedPart
}

// A WatchedPart is a member or an element that has changed, or the whole.
type WatchedPart struct{ Name, Old, New string }

func (p WatchedPart) String() string { return fmt.Sprintf("%s: %s -> %s", p.Name, p.Old, p.New) }

// String is the change: "total: 3 -> 4".
func (w *WatchHit) String() string {
	parts := w.Parts
	switch {
	case w.New == nil:
		return fmt.Sprintf("%v: its memory is unmapped", w.what())
	case w.Merged:
		return fmt.Sprintf("%s: the change of another thread's hit may include this write", w.what())
	case w.Name == "":
		parts = w.Words("")
	case len(parts) == 0: // bytes between members
		parts = []WatchedPart{{w.Name, w.OldText, w.NewText}}
	}
	var all []string
	if len(parts) == 0 { // it was read
		return fmt.Sprintf("%s: %s, unchanged", w.what(), units.Count(w.Size, "byte"))
	}
	for _, p := range parts[:min(len(parts), MaxWatchedParts)] {
		all = append(all, p.String())
	}
	if len(parts) > MaxWatchedParts {
		all = append(all, "...")
	}
	return strings.Join(all, ", ")
}

// what is the expression or the address.
func (w *WatchHit) what() string {
	if w.Name != "" {
		return w.Name
	}
	return fmt.Sprintf("*%v", w.Addr)
}

// Words are the parts of memory whose type says nothing: up to 8 bytes each, by their place in a variable, or without one
// by their address.
func (w *WatchHit) Words(variable string) (all []WatchedPart) {
	const word = 8
	for at := 0; at < len(w.Old) && at < len(w.New) && len(all) <= MaxWatchedParts; at += word {
		old, now := w.Old[at:min(at+word, len(w.Old))], w.New[at:min(at+word, len(w.New))]
		if bytes.Equal(old, now) && len(w.Old) > word {
			continue
		}
		name := fmt.Sprintf("*%v", w.Addr+addr.Run(at))
		if variable != "" {
			name = fmt.Sprintf("%s, bytes %d to %d", variable, at, at+len(now)-1)
		}
		all = append(all, WatchedPart{name, fmt.Sprintf("%#x", target.Uint(old)), fmt.Sprintf("%#x", target.Uint(now))})
	}
	return all
}

// maxWatchedText bounds the elements of a value in the report of a watchpoint, maxWatchedParts its
// members that changed.
const (
	MaxWatchedText  = 64
	MaxWatchedParts = 8
)

// Visible are the parts whose text has changed, or else the bytes: a printer may show nothing of a change, as of
// the sentinel of a list whose node is not linked yet.
func (w *WatchHit) Visible(variable string, parts []WatchedPart) []WatchedPart {
	seen := slices.DeleteFunc(slices.Clone(parts), func(p WatchedPart) bool { return p.Old == p.New })
	if len(parts) > 0 && len(seen) == 0 {
		return w.Words(variable)
	}
	return seen
}
