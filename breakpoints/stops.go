package breakpoints

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"hdb/internal/addr"
	"hdb/internal/cformat"
	"hdb/internal/cond"
	"hdb/internal/when"
)

// A StopKind says what a stop waits for.
type StopKind uint8

// The kinds of stops.
const (
	StopAlloc      StopKind = iota // an allocation, when its result is known; Funcs, Nth
	StopFree                       // a free, before it runs; Funcs
	StopFunction                   // a function, after its prologue; Function, File
	StopLine                       // a line; File, Line, or Offset lines from the current one
	StopAddress                    // an instruction; Addr
	StopRegexp                     // all functions that match; Regexp
	StopWatch                      // a change of memory; this and the following are made by the session, not by ParseSpec
	StopSystemCall                 // before a system call, and when it has returned; Calls
	StopLoad                       // a library that is loaded; Regexp
	StopUnload                     // one that is unloaded; Regexp
	StopFork                       // a fork
	StopVfork                      // a vfork, as posix_spawn and system make it
	StopExec                       // a program that is executed in place of this one
	StopSignal                     // a signal that arrives; Signals
	StopPython                     // a line or function of Python; Asks
	StopState                      // a condition on the heap becomes true; When
	StopLeaked                     // a call of a function ends, and blocks that it made are live; When, Function
)

var stopKindNames = [...]string{"alloc", "free", "function", "line", "address", "regexp", "watch", "system call", "load", "unload", "fork", "vfork", "exec", "signal", "line of Python", "state", "leaking call"}

// String is the kind in a word.
func (k StopKind) String() string {
	if int(k) < len(stopKindNames) {
		return stopKindNames[k]
	}
	return fmt.Sprintf("StopKind(%d)", uint8(k))
}

// A Spec is what the user asks to stop at, not yet resolved to places.
type Spec struct {
	Location string // what precedes thread and if
	Kind     StopKind
	Funcs    []string // StopAlloc, StopFree: the functions' names; none means any
	Function string   // StopFunction
	File     string   // StopLine, StopFunction; "" the current file, or any
	Line     int      // StopLine, 0 with Offset
	Offset   int      // StopLine without Line: lines from the current one
	Addr     addr.Run // StopAddress
	Regexp   *regexp.Regexp
	Caught   string         // StopFunction of a runtime: the event that it represents, as throw
	Thrown   *regexp.Regexp // of throw and catch: the types of exceptions that it is about; nil: all
	Calls    []uint64       // StopSystemCall: their numbers; none means any
	Signals  []int          // StopSignal: their numbers; none means any but those that debuggers use
	Nth      uint64         // StopAlloc, StopFree: the event's number, 0 any
	Thread   int            // thread number, 0 any
	Cond     *cond.Cond
	Asks     string     // StopPython: its condition, an expression of Python; "" none
	When     *when.Cond // StopState, StopLeaked
}

// Where is the place in the code that a stop has, as its Location names it.
func (s Spec) Where() string {
	if s.Kind == StopLeaked {
		return s.Function
	}
	return s.Location
}

// Event is the event of a runtime that a stop represents, as catch reads it.
func (s Spec) Event() string {
	if s.Thrown == nil {
		return s.Caught
	}
	return s.Caught + " " + s.Thrown.String()
}

// String is the spec as break reads it, with the condition that it has now.
func (s Spec) String() string {
	text := s.Location
	if s.Thrown != nil {
		text = s.Event()
	}
	if s.Thread != 0 {
		text += fmt.Sprintf(" thread %d", s.Thread)
	}
	if s.Cond != nil {
		text += " if " + strings.TrimSpace(s.Cond.Source())
	}
	if s.Asks != "" {
		text += " if " + s.Asks
	}
	return text
}

// Place is the code or events that a spec speaks of: what its condition may ask.
func (s Spec) Place() cond.Place { return s.Kind.place() }

func (k StopKind) place() cond.Place {
	everywhere := []cond.Field{cond.Thread, cond.Goroutine, cond.Nth, cond.Live, cond.Blocks}
	stack := []cond.Predicate{cond.Func, cond.Module, cond.ThreadName}
	switch k {
	case StopAlloc:
		return cond.Place{
			Name:       "at an allocation",
			Fields:     append([]cond.Field{cond.Size, cond.Addr, cond.Old, cond.Align, cond.Count}, everywhere...),
			Predicates: append(stack, cond.Caller, cond.PyFile, cond.Like, cond.Kind, cond.Type, cond.Domain), Expressions: true,
		}
	case StopFree:
		return cond.Place{
			Name:       "when a block is freed",
			Fields:     append([]cond.Field{cond.Addr, cond.Size}, everywhere...),
			Predicates: append(stack, cond.Caller, cond.PyFile, cond.Like, cond.Kind, cond.Domain), Expressions: true,
		}
	}
	article := "a "
	if strings.ContainsRune("aeiou", rune(k.String()[0])) {
		article = "an "
	}
	return cond.Place{Name: "at " + article + k.String(), Fields: everywhere, Predicates: stack, Expressions: true}
}

// A Place is an address where a stop has its trap.
type Place struct {
	Addr     addr.Run `json:"address"`
	Function string   `json:"function,omitempty"`
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Module   string   `json:"module,omitempty"`
}

// A Stop is a numbered breakpoint.
type Stop struct {
	ID int // from 1, never used again
	Spec
	Enabled   bool
	Temporary bool     // deleted when it stops
	Hardware  bool     // by debug registers, rather than by traps in memory
	Pending   bool     // no module defines the place yet
	Silent    bool     // commands begin with "silent"
	Commands  []string // run at each stop
	Ignore    uint64   // hits still to pass
	Hits      uint64   // times the condition held
	Left      uint64   // stops until it disables itself; 0 no limit
	Places    []Place

	Print *cformat.Format // of dprintf: what is printed at each hit; nil: nothing
	Trace bool            // of trace: calls and returns are reported
}

// NewStop makes an enabled stop of a spec; List.Add numbers it.
func NewStop(s Spec) *Stop { return &Stop{Spec: s, Enabled: true} }

// Occurs reports whether the stop is at what may happen anywhere: a system call,
// libraries that come or go, a fork, an exec or a signal.
func (s *Stop) Occurs() bool {
	switch s.Kind {
	case StopSystemCall, StopLoad, StopUnload, StopFork, StopVfork, StopExec, StopSignal:
		return true
	}
	return false
}

// GoesOn reports whether the program is not stopped by a hit, after what it is for is printed.
func (s *Stop) GoesOn() bool { return s.Print != nil || s.Trace }

// Word is what the stop is called.
func (s *Stop) Word() string {
	switch {
	case s.Kind == StopWatch:
		return "watchpoint"
	case s.Print != nil:
		return "dprintf"
	case s.Trace:
		return "tracepoint"
	case (s.Caught != "" || s.Occurs()) && s.Temporary:
		return "temporary catchpoint"
	case s.Caught != "", s.Occurs():
		return "catchpoint"
	case s.Temporary && s.Hardware:
		return "temporary hardware breakpoint"
	case s.Hardware:
		return "hardware breakpoint"
	case s.Temporary:
		return "temporary breakpoint"
	}
	return "breakpoint"
}

// Check reports whether to stop here, counting the hit. A hit is an arrival for which thread,
// number and condition hold. The caller asks whether the stop concerns the arrival, as Wants does
// for a call.
func (s *Stop) Check(env cond.Env) bool { return s.Meets(env) == cond.True && s.Hit() }

// Hit counts a hit, and reports whether to stop for it: ignored hits count too.
func (s *Stop) Hit() bool {
	s.Hits++
	if s.Ignore > 0 {
		s.Ignore--
		return false
	}
	if s.Left > 0 {
		s.Left--
		s.Enabled = s.Left > 0
	}
	return true
}

// Meets reports whether an arrival is a hit. It is Unknown if it is not known whether the condition
// holds.
func (s *Stop) Meets(env cond.Env) cond.Truth {
	switch {
	case !s.Enabled,
		s.Thread != 0 && !is(env, cond.Thread, uint64(s.Thread)),
		s.Nth != 0 && !is(env, cond.Nth, s.Nth):
		return cond.False
	case s.Cond == nil:
		return cond.True
	}
	return s.Cond.Decide(env)
}

func is(env cond.Env, f cond.Field, want uint64) bool {
	v, ok := env.Number(f)
	return ok && v == want
}

// AnyCall tells `alloc #N`: whatever the event of that number is.
func (s *Spec) AnyCall() bool { return s.Nth != 0 && s.Kind == StopAlloc && len(s.Funcs) == 0 }

// Wants reports whether a stop on allocator calls is about c. A stop that names no
// function wants any of the heap, not of group VM.
func (s *Stop) Wants(c Call) bool {
	switch {
	case s.Kind != StopAlloc && s.Kind != StopFree, c.Function.Whole:
		return false
	case s.AnyCall():
		return true
	case c.Function.Frees() != (s.Kind == StopFree): // not the event's kind: sbrk and brk also unmap
		return false
	case len(s.Funcs) == 0:
		return c.Function.Group != GroupVM
	}
	return slices.ContainsFunc(s.Funcs, c.Is)
}

// SetCondition replaces the condition; "" removes it. An error, a *cond.Error
// that points into text, leaves the stop as it was.
func (s *Stop) SetCondition(text string) error {
	if text == "" && s.When == nil {
		s.Cond, s.Asks = nil, ""
		return nil
	}
	switch s.Kind {
	case StopPython:
		s.Asks = text
		return nil
	case StopState, StopLeaked:
		return s.setWhen(text)
	}
	c, err := cond.ParseAt(text, s.Place())
	if err != nil {
		return err
	}
	s.Cond = c
	return nil
}

// SetWhen gives the spec a condition on state.
func (s *Spec) SetWhen(text string) error {
	c, err := when.Parse(text)
	if err != nil {
		return err
	}
	kind := StopState
	if c.Leaked() != "" {
		of, err := ParseSpec(c.Leaked())
		switch {
		case err != nil:
			return err
		case of.Kind != StopFunction:
			return fmt.Errorf("when: leaked(%s): a function of the program expected, as in leaked(handle_request)", c.Leaked())
		}
		kind = StopLeaked
	}
	s.Kind, s.Function, s.When, s.Location = kind, c.Leaked(), c, "when "+c.String()
	return nil
}

// setWhen is SetWhen of a stop that is one on the heap, or at returns of a function, already.
func (s *Spec) setWhen(text string) error {
	changed := *s
	if err := changed.SetWhen(text); err != nil {
		return err
	}
	if changed.Kind != s.Kind || changed.Function != s.Function {
		return fmt.Errorf("when: %s: the stop has other places: set another stop with break when", changed.When)
	}
	*s = changed
	return nil
}

// A List holds the stops of a session by number. The zero List is empty.
type List struct {
	stops []*Stop // ascending ID
	last  int
}

// Add numbers the stop and puts it in the list.
func (l *List) Add(s *Stop) *Stop {
	l.last++
	s.ID = l.last
	l.stops = append(l.stops, s)
	return s
}

// Get is the stop of that number.
func (l *List) Get(id int) (*Stop, bool) {
	i, ok := l.index(id)
	if !ok {
		return nil, false
	}
	return l.stops[i], true
}

// All lists the stops in ascending order; the slice is the caller's.
func (l *List) All() []*Stop { return slices.Clone(l.stops) }

// Delete removes a stop and returns it; its number is not used again.
func (l *List) Delete(id int) (*Stop, bool) {
	i, ok := l.index(id)
	if !ok {
		return nil, false
	}
	s := l.stops[i]
	l.stops = slices.Delete(l.stops, i, i+1)
	return s, true
}

// Last is the highest number given so far, 0 before the first: gdb's $bpnum.
func (l *List) Last() int { return l.last }

func (l *List) index(id int) (int, bool) {
	return slices.BinarySearchFunc(l.stops, id, func(s *Stop, id int) int { return s.ID - id })
}
