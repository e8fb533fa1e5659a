// Package stopped says why and where a program has stopped: the report of a stop, with its causes.
package stopped

import (
	"fmt"
	"strings"
	"time"

	"hdb/breakpoints"
	"hdb/inferior"
	"hdb/internal/units"
	"hdb/names"
	"hdb/query"
	"hdb/recording"
	"hdb/session/cpython"
	"hdb/session/heaps"
	"hdb/session/view"
)

// A Report says why and where the inferior stopped.
type Report struct {
	Reason    inferior.StopReason
	Verb      string // "start", "step" ...: what ended here without a numbered stop
	Thread    view.ThreadInfo
	Elapsed   time.Duration
	Hits      []*breakpoints.Stop // the numbered stops that matched
	Uncounted bool                // they were met in the past of a process, which does not count
	Causes    []Cause             // why it stopped here, the one for the headline first
	Frames    []names.Frame       // from the innermost to the user's: the innermost alone where the user placed the stop
	Python    *names.Frame        // the function of Python that the thread is in
	InPython  bool                // the stop is in that function, and Frames has none
	Leaving   bool                // the program is about to exit: at a function by which programs end, or at the system call
	Drawn     bool                // the recording tells where this is: the moment of its peak
}

// A Cause is why the inferior stopped, in addition to the numbered stops: one of the types below that have a
// headline.
type Cause interface {
	// headline is the cause in a line, "" if it has none of its own. call words the call of an event.
	headline(w Wording) string
}

// CauseOf is the cause of a type, nil if the report has none.
func CauseOf[C Cause](r *Report) (cause C) {
	for _, c := range r.Causes {
		if found, ok := c.(C); ok {
			return found
		}
	}
	return cause
}

// Add adds a cause behind those that go before it in the headline.
func (r *Report) Add(c Cause) { r.Causes = append(r.Causes, c) }

// Event is the allocation stopped at, nil: none.
func (r *Report) Event() *recording.Event {
	if a := CauseOf[*Allocation](r); a != nil {
		return a.Event
	}
	return nil
}

// Signal is the signal that the inferior stopped at, nil: none.
func (r *Report) Signal() *inferior.Signal {
	if s := CauseOf[*Signaled](r); s != nil {
		return s.Signal
	}
	return nil
}

// Exit is how the inferior ended, the zero value if it has not.
func (r *Report) Exit() inferior.ExitStatus {
	if e := CauseOf[*Ended](r); e != nil {
		return e.ExitStatus
	}
	return inferior.ExitStatus{}
}

// Watched is what the watchpoints among the numbered stops saw, in their order.
func (r *Report) Watched() []WatchHit {
	if w := CauseOf[*Watched](r); w != nil {
		return w.Hits
	}
	return nil
}

// An Allocation is an event of an allocator that the inferior stopped at.
type Allocation struct {
	*recording.Event
	Go    *GoAllocation    // what is known of it if a Go program allocates
	Stray *query.StrayFree // what is known of it if it is a recorded free of no live block
}

func (a *Allocation) headline(w Wording) string {
	return fmt.Sprintf("#%d %s", a.Seq, w.Call(a.Event))
}

// A WrongCall is a free of what is not a block.
type WrongCall struct{ *query.WrongFree }

func (c *WrongCall) headline(w Wording) string {
	return fmt.Sprintf("%s: %s", c.Kind, c.CallText(w.Call))
}

func (m *Met) headline(w Wording) string {
	if !m.Late {
		return "" // the event's
	}
	return fmt.Sprintf("#%d %s", m.Event.Seq, w.Call(m.Event))
}

func (l *LeftBlocks) headline(w Wording) string { return l.text(w.Sizes) }

// A Watched is the changes that watchpoints saw.
type Watched struct{ Hits []WatchHit }

func (w *Watched) headline(Wording) string {
	var all []string
	for i := range w.Hits {
		all = append(all, w.Hits[i].String())
	}
	return strings.Join(all, ", ")
}

// An Expired is a watchpoint whose variable is no more.
type Expired struct{ Text string }

func (e *Expired) headline(Wording) string { return e.Text }

// An Occurred is a system call, libraries that came or went, or the program's exit ahead.
type Occurred struct{ Text string }

func (o *Occurred) headline(Wording) string { return o.Text }

// A Thrown is an exception that is thrown, caught or thrown again, or a panic of Rust.
type Thrown struct {
	Event string // "throw", "catch", ...
	Type  string // "" not known
}

func (t *Thrown) headline(Wording) string {
	return strings.TrimSpace(t.Event + " " + t.Type)
}

// A Signaled is a signal, with what is known of one by which the program ends itself.
type Signaled struct {
	*inferior.Signal
	Blamed  *cpython.Damage    // the damaged block for which CPython's debug hooks ended the program
	Aborted *heaps.MallocAbort // why the C library's malloc has ended the program
}

func (s *Signaled) headline(Wording) string { return s.Explanation }

// Finished is what `finish` ran to the end of. Values.Returned tells the value.
type Finished struct {
	Function string
	Left     bool   // by an exception or a longjmp: it has not returned
	RAX      uint64 // the value, if it is an integer or a pointer
	Object   string // the value, if it is an object of Python that was asked for
	Unknown  bool   // the value of another function, which has returned to its caller for it

	Frame names.Frame // the one that has returned
}

func (f *Finished) headline(Wording) string {
	if f.Left {
		return f.Function + " was left by an exception or longjmp"
	}
	return f.Function + " returned"
}

// An Ended is the end of the process.
type Ended struct{ inferior.ExitStatus }

func (e *Ended) headline(Wording) string { return e.String() }

// An Execed is another program in the process, by its path.
type Execed struct{ Path string }

func (e *Execed) headline(Wording) string {
	return "executing new program: " + e.Path
}

// A Forked is a process that was forked, by its ID.
type Forked struct{ Child int }

func (f *Forked) headline(Wording) string {
	return fmt.Sprintf("forked process %d", f.Child)
}

// An Interruption is one by the user.
type Interruption struct{}

func (*Interruption) headline(Wording) string { return "interrupted" }

// A Past is a moment of the recording that the view was brought to: Text is the whole headline.
type Past struct{ Text string }

func (p *Past) headline(Wording) string { return p.Text }

// AddEngine adds the causes that the engine tells, which go behind all others.
func (r *Report) AddEngine(stop inferior.Stop) {
	switch stop.Reason {
	case inferior.Exited, inferior.Gone:
		r.Add(&Ended{stop.Exit})
	case inferior.Interrupted:
		r.Add(&Interruption{})
	case inferior.Execed:
		r.Add(&Execed{stop.Path})
	case inferior.Forked:
		r.Add(&Forked{stop.Child})
	}
}

// Headline is the report's first line, without a newline: the numbered stops,
// the event, the thread and the time.
func (r *Report) Headline() string { return r.HeadlineOf(Wording{Call: (*recording.Event).Call}) }

// A Wording is how a headline has calls and sizes.
type Wording struct {
	Call  func(*recording.Event) string
	Sizes units.Sizes
}

// HeadlineOf is Headline in another wording.
func (r *Report) HeadlineOf(w Wording) string {
	if past := CauseOf[*Past](r); past != nil {
		return past.Text
	}
	var parts []string
	for _, h := range r.Hits {
		if CauseOf[*Ended](r) != nil {
			break // it has ended by itself
		}
		part := fmt.Sprintf("%s %d", h.Word(), h.ID)
		if !r.Uncounted {
			part += fmt.Sprintf(", hit %d", h.Hits)
		}
		parts = append(parts, part)
	}
	if cause := r.cause(w); cause != "" {
		parts = append(parts, cause)
	}
	line := strings.Join(parts, ": ")
	if r.Thread.Num != 0 {
		line += fmt.Sprintf("   thread %d %q", r.Thread.Num, r.Thread.Name)
	}
	if r.Event() != nil || CauseOf[*WrongCall](r) != nil {
		line += "   " + units.Time(r.Elapsed)
	}
	return strings.TrimSpace(line)
}

// cause is the part of the headline between the numbered stops and the thread.
func (r *Report) cause(w Wording) string {
	for _, c := range r.Causes {
		if text := c.headline(w); text != "" {
			return text
		}
	}
	if len(r.Hits) > 0 {
		return "" // `next` that ends on a breakpoint: the hit is why
	}
	return r.Verb
}
