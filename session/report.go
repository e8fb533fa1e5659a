package session

import (
	"fmt"
	"strings"
	"time"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/names"
	"hdb/recording"
)

// A Report says why and where the inferior stopped.
type Report struct {
	Reason   inferior.StopReason
	Thread   ThreadInfo
	Hits     []*breakpoints.Stop // the numbered stops that matched
	Event    *recording.Event    // the allocation stopped at
	Signal   *inferior.Signal
	Exit     inferior.ExitStatus
	Watch    *WatchHit
	Finished *Finished
	Exec     string // the program now running, after an exec
	Child    int    // the process forked
	Elapsed  time.Duration
	Frames   []names.Frame // from the innermost to the user's, see showFrames
	Stop     string        // the report of a recorded stop, as it was shown
	Drawn    bool          // the recording tells where this is: the moment of its peak
	Verb     string        // "start", "step" ...: what ended here without a numbered stop
}

// WatchHit is what a watchpoint saw.
type WatchHit struct {
	Addr     addr.Run
	Size     int
	Old, New []byte
}

// Finished is what `finish` ran to the end of. Values.Returned tells the value.
type Finished struct {
	Function string
	Left     bool   // by an exception or a longjmp: it has not returned
	RAX      uint64 // the value, if it is an integer or a pointer

	frame names.Frame // the one that has returned
}

// Headline is the report's first line, without a newline: the numbered stops,
// the event, the thread and the time.
func (r *Report) Headline() string {
	if r.Stop != "" {
		return r.Stop
	}
	var parts []string
	for _, h := range r.Hits {
		word := "breakpoint"
		switch {
		case h.Kind == breakpoints.StopWatch:
			word = "watchpoint"
		case h.Temporary:
			word = "temporary breakpoint"
		}
		parts = append(parts, fmt.Sprintf("%s %d, hit %d", word, h.ID, h.Hits))
	}
	if cause := r.cause(); cause != "" {
		parts = append(parts, cause)
	}
	line := strings.Join(parts, ": ")
	if r.Thread.Num != 0 {
		line += fmt.Sprintf("   thread %d %q", r.Thread.Num, r.Thread.Name)
	}
	if r.Event != nil {
		line += fmt.Sprintf("   %.3f s", r.Elapsed.Seconds())
	}
	return strings.TrimSpace(line)
}

// cause is the part of the headline between the numbered stops and the thread.
func (r *Report) cause() string {
	switch {
	case r.Event != nil:
		return fmt.Sprintf("#%d %s", r.Event.Seq, r.Event.Call())
	case r.Watch != nil:
		return fmt.Sprintf("*%v: %#x -> %#x", r.Watch.Addr, little(r.Watch.Old), little(r.Watch.New))
	case r.Signal != nil:
		return r.Signal.Explanation
	case r.Finished != nil && r.Finished.Left:
		return r.Finished.Function + " was left by an exception or longjmp"
	case r.Finished != nil:
		return r.Finished.Function + " returned"
	}
	switch r.Reason {
	case inferior.Exited, inferior.Gone:
		return r.Exit.String()
	case inferior.Interrupted:
		return "interrupted"
	case inferior.Execed:
		return "executing new program: " + r.Exec
	case inferior.Forked:
		return fmt.Sprintf("forked process %d", r.Child)
	}
	if len(r.Hits) > 0 {
		return "" // `next` that ends on a breakpoint: the hit is why
	}
	return r.Verb
}

// little reads up to 8 bytes in the inferior's order.
func little(b []byte) uint64 {
	var v uint64
	for i := min(len(b), 8) - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	return v
}
