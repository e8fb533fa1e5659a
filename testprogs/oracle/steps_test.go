package oracle

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/testprogs"
)

// Why debuggers stop at different places.
const (
	// What is left of an inlined call whose range the compiler has left out: gdb shows the
	// caller's frame with the callee's line, hdb passes it or shows the caller's own line.
	strayLine = "gdb stops at an inlined callee's line"
	// gdb runs on to the next line of the caller.
	cameBack = "hdb stops where a call returned"
	// gdb takes another part of the same inlined call, reached by a jump, for a call of its own.
	otherPart = "gdb enters a part of an inlined call anew"
	// Code of other lines between has made gdb forget where it began.
	again = "gdb stops at the same line again"

	partEarlier  = "gdb has stopped at the line before, where an instruction of the inlined call has been moved to"
	untilInlined = "gdb 13 ends until at the start of an inlined call further up in the loop"
)

// stepped are the programs that are stepped through, with the functions to begin in.
var stepped = []struct {
	name   string
	source string
	build  []string
	begin  map[string][2]int // first and last line of each
	agreed map[string]string // why they end differently behind "COMMAND FUNCTION:LINE"
}{
	{name: "inlinestep.cc", source: "../../testdata/inlinestep.cc", build: []string{"g++", "-O2"},
		begin: map[string][2]int{
			"work": {94, 108}, "Server::session": {47, 55}, "Server::handle": {57, 66}, "Server::totals": {68, 76}, "Server::drop": {78, 85}, "Session::add": {21, 25}, "main": {110, 116},
		}, agreed: map[string]string{"until work:99": untilInlined}},
	{name: "queue.c", source: "queue.c", build: []string{"gcc", "-O2"}, begin: map[string][2]int{"fill": {78, 85}, "run": {62, 76}, "make": {51, 60}, "main": {87, 95}},
		agreed: map[string]string{"until run:67": untilInlined, "step run:67": partEarlier}},
	{name: "ledger.rs", source: "ledger.rs", build: []string{"rustc", "-O"}, begin: map[string][2]int{"ledger::work": {52, 62}, "ledger::Ledger::post": {27, 39}, "ledger::Ledger::report": {41, 49}}},
}

// TestSteps plays series of steps to gdb and hdb from the same places, and compares where
// they stop. A series ends where they do not come together again.
func TestSteps(t *testing.T) {
	for _, p := range stepped {
		t.Run(p.name, func(t *testing.T) {
			c := compiled(t, p.build, p.source)
			both := &steppers{t: t, gdb: GDBStepper(t, c), hdb: HDBStepper(t, c), source: filepath.Base(p.source), own: p.begin, counts: map[string]int{}, different: map[string]string{}}
			functions := slices.Sorted(maps.Keys(p.begin))
			rng := rand.New(rand.NewPCG(1, 2))
			for i := range testprogs.Rounds(6, 36) {
				begin := functions[rng.IntN(len(functions))]
				both.series(begin, 1+rng.IntN(3), both.commands(rng, i, functions))
			}
			for after, what := range both.different {
				if p.agreed[after] == "" {
					t.Errorf("%s: %s", after, what)
				}
			}
			t.Logf("%d stops are the same; %v", both.same, both.counts)
			if both.same < testprogs.Rounds(8, 40) {
				t.Errorf("%d stops were compared", both.same)
			}
		})
	}
}

type steppers struct {
	t         *testing.T
	gdb, hdb  *Stepper
	source    string            // the user's file
	own       map[string][2]int // first and last line of its functions
	same      int
	counts    map[string]int // of reasons
	different map[string]string
}

// commands are those of one series: next alone, step alone or all.
func (s *steppers) commands(rng *rand.Rand, round int, functions []string) []string {
	var all []string
	for range 30 {
		switch k := rng.IntN(12); {
		case round%3 == 0 || round%3 == 2 && k < 5:
			all = append(all, "next")
		case round%3 == 1 || k < 8:
			all = append(all, "step")
		case k < 9:
			all = append(all, "until")
		case k < 10:
			all = append(all, "advance "+functions[rng.IntN(len(functions))])
		default:
			all = append(all, "finish")
		}
	}
	return all
}

func (s *steppers) series(begin string, hit int, commands []string) {
	s.gdb.Do("delete")
	s.hdb.tell("delete") // it says nothing
	for _, d := range []*Stepper{s.gdb, s.hdb} {
		d.Do("tbreak " + begin)
	}
	g, h := s.gdb.Do("run > /dev/null"), s.hdb.Do("run > /dev/null")
	for range hit - 1 { // the same function again
		for _, d := range []*Stepper{s.gdb, s.hdb} {
			d.Do("tbreak " + begin)
		}
		g, h = s.gdb.Do("continue"), s.hdb.Do("continue")
	}
	if g.Error != "" && h.Error != "" { // it is not called again
		return
	}
	if !s.meet(&g, &h, Position{}, "break "+begin) {
		return
	}
	for _, c := range commands {
		if g.Ended || !s.known(g) {
			return // in a library
		}
		from := g
		g, h = s.gdb.Do(c), s.hdb.Do(c)
		if g.Error != "" || h.Error != "" {
			if (g.Error == "") != (h.Error == "") {
				s.differ(c, from, g, h)
			}
			return
		}
		if c == "next" && s.known(from) && !from.Inlined && (h.Inlined || h.Function == from.Function && h.File != s.source) {
			s.t.Errorf("next from %v stops inside of an inlined call: %v", from, h)
		}
		if !s.meet(&g, &h, from, fmt.Sprintf("%s %s:%d", c, from.Function, from.Line)) {
			return
		}
	}
}

// known tells the user's code.
func (s *steppers) known(p Position) bool { return p.File == s.source }

// most extra commands to come together again.
const most = 4

// meet has the debuggers come together where one of them stops more often, for a reason.
func (s *steppers) meet(g, h *Position, from Position, after string) bool {
	first, second := *g, *h
	more := "next"
	if strings.HasPrefix(after, "step") {
		more = "step"
	}
	var reasons []string
	strayed := false
	for range most {
		switch {
		case s.agree(*g, *h):
			s.same++
			for _, r := range reasons {
				s.counts[r]++
			}
			return true
		case g.Ended && h.Ended || g.Error != "" || h.Error != "":
			s.note(after, first, second)
			return false
		case s.stray(*g, *h):
			reasons, strayed = append(reasons, strayLine), true
			*g = s.gdb.Do(more)
		case g.same(from):
			if !strayed { // otherwise the line goes on behind the other's
				reasons = append(reasons, again)
			}
			*g = s.gdb.Do(more)
		case more == "step" && h.Inlined && !g.Inlined && s.known(*g):
			reasons = append(reasons, otherPart)
			*g = s.gdb.Do(more)
		default:
			reasons = append(reasons, cameBack)
			*h = s.hdb.Do(more)
		}
	}
	s.note(after, first, second)
	return false
}

// agree compares what a user sees. In libraries the debuggers have other names for some functions.
func (s *steppers) agree(g, h Position) bool {
	if !s.known(g) && !s.known(h) {
		g.Function, h.Function = "", ""
	}
	return g.same(h)
}

// stray tells a line that gdb shows in the frame of a function that it is not in.
func (s *steppers) stray(g, h Position) bool {
	if g.Inlined || g.Ended || s.own == nil {
		return false
	}
	lines, ok := s.own[g.Function]
	return ok && (!s.known(g) || g.Line < lines[0] || g.Line > lines[1])
}

func (s *steppers) differ(command string, from, g, h Position) {
	s.note(fmt.Sprintf("%s %s:%d", command, from.Function, from.Line), g, h)
}

func (s *steppers) note(after string, g, h Position) {
	s.different[after] = fmt.Sprintf("gdb %v, hdb %v", g, h)
}

// String is a position as a user sees it.
func (p Position) String() string {
	switch {
	case p.Error != "":
		return "error " + p.Error
	case p.Ended:
		return "end"
	}
	parts := []string{p.Function, fmt.Sprintf("%s:%d", p.File, p.Line)}
	if p.Inlined {
		parts = append(parts, "inlined")
	}
	return strings.Join(slices.Clip(parts), " ")
}
