package breakpoints

import (
	"slices"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/internal/cond"
)

// arrival is an environment with numbers and the allocator's name.
type arrival struct {
	numbers map[cond.Field]uint64
}

func (a arrival) Number(f cond.Field) (uint64, bool) { v, ok := a.numbers[f]; return v, ok }
func (a arrival) Func(string) bool                   { return false }
func (a arrival) Module(string) bool                 { return false }
func (a arrival) PyFile(string) bool                 { return false }
func (a arrival) Caller(string) bool                 { return false }
func (a arrival) Like(string) bool                   { return false }
func (a arrival) Kind(string) bool                   { return false }
func (a arrival) Type(string) bool                   { return false }
func (a arrival) ThreadName() string                 { return "" }

func mustSpec(t *testing.T, text string) Spec {
	t.Helper()
	s, err := ParseSpec(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStopCheck(t *testing.T) {
	at := func(size, thread, nth uint64) arrival {
		return arrival{map[cond.Field]uint64{cond.Size: size, cond.Thread: thread, cond.Nth: nth}}
	}
	arrivals := []arrival{at(10, 1, 1), at(2000, 1, 2), at(3000, 2, 3), at(20, 2, 4), at(5000, 1, 5)}
	for _, c := range []struct {
		spec   string
		change func(*Stop)
		stops  []uint64 // event numbers
		hits   uint64
	}{
		{spec: "alloc", stops: []uint64{1, 2, 3, 4, 5}, hits: 5},
		{spec: "malloc", stops: []uint64{1, 2, 3, 4, 5}, hits: 5},
		{spec: "alloc if size >= 1k", stops: []uint64{2, 3, 5}, hits: 3},
		{spec: "alloc thread 2", stops: []uint64{3, 4}, hits: 2},
		{spec: "alloc thread 2 if size > 100", stops: []uint64{3}, hits: 1},
		{spec: "alloc #4", stops: []uint64{4}, hits: 1},
		{spec: "alloc", change: func(s *Stop) { s.Ignore = 3 }, stops: []uint64{4, 5}, hits: 5},
		{spec: "alloc", change: func(s *Stop) { s.Left = 2 }, stops: []uint64{1, 2}, hits: 2},
		{spec: "alloc", change: func(s *Stop) { s.Left, s.Ignore = 1, 2 }, stops: []uint64{3}, hits: 3},
		{spec: "alloc", change: func(s *Stop) { s.Enabled = false }},
	} {
		s := NewStop(mustSpec(t, c.spec))
		if c.change != nil {
			c.change(s)
		}
		var stops []uint64
		for _, a := range arrivals {
			if s.Check(a) {
				stops = append(stops, a.numbers[cond.Nth])
			}
		}
		if !slices.Equal(stops, c.stops) || s.Hits != c.hits {
			t.Errorf("%s: stops at %v with %d hits, want %v with %d", c.spec, stops, s.Hits, c.stops, c.hits)
		}
	}
}

func TestSetCondition(t *testing.T) {
	s := NewStop(mustSpec(t, "main if nth > 3"))
	for text, want := range map[string]string{
		"n > (3": "column 5: no bracket closes this (",
		"nth >":  "column 6: nth is compared with a number",
	} {
		if err := s.SetCondition(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("SetCondition(%q) = %v, want %s", text, err, want)
		}
	}
	if s.Cond.String() != "nth > 3" {
		t.Errorf("a bad condition replaced the old one: %s", s.Cond)
	}
	if err := s.SetCondition("thread == 1"); err != nil || s.Cond.String() != "thread == 1" {
		t.Errorf("SetCondition: %v, %v", s.Cond, err)
	}
	if err := s.SetCondition(""); err != nil || s.Cond != nil {
		t.Errorf("SetCondition of nothing: %v, %v", s.Cond, err)
	}
}

func TestList(t *testing.T) {
	var l List
	for _, text := range []string{"alloc", "main", "free"} {
		l.Add(NewStop(mustSpec(t, text)))
	}
	if s, ok := l.Delete(2); !ok || s.Function != "main" {
		t.Errorf("Delete(2) = %v, %v", s, ok)
	}
	if _, ok := l.Delete(2); ok {
		t.Error("deleted twice")
	}
	if s := l.Add(NewStop(mustSpec(t, "12"))); s.ID != 4 || l.Last() != 4 {
		t.Errorf("a number was used again: %d", s.ID)
	}
	if s, ok := l.Get(3); !ok || s.Kind != StopFree {
		t.Errorf("Get(3) = %v, %v", s, ok)
	}
	if _, ok := l.Get(2); ok {
		t.Error("Get finds a deleted stop")
	}
	var ids []int
	for _, s := range l.All() {
		ids = append(ids, s.ID)
	}
	if !slices.Equal(ids, []int{1, 3, 4}) {
		t.Errorf("All: %v", ids)
	}
}

func TestWants(t *testing.T) {
	for _, c := range []struct {
		spec      string
		yes, noes []string // symbols
	}{
		{"alloc", []string{"malloc", "realloc", "_Znwm", "mallocx", "runtime.mallocgc"}, []string{"free", "mmap", "munmap", "_ZdlPv"}},
		{"free", []string{"free", "_ZdlPv", "cfree", "dallocx"}, []string{"malloc", "munmap", "runtime.mallocgc", "realloc"}},
		{"malloc", []string{"malloc"}, []string{"calloc", "_Znwm"}},
		{"operator new", []string{"_Znwm", "_ZnwmSt11align_val_t"}, []string{"_Znam", "malloc"}},
		{"munmap", []string{"munmap"}, []string{"free"}},
		{"mmap", []string{"mmap", "mmap64"}, []string{"malloc"}},
		{"main", nil, []string{"malloc", "free"}},
	} {
		s := NewStop(mustSpec(t, c.spec))
		wants := func(symbol string) bool {
			i := slices.IndexFunc(Catalogue(), func(f Function) bool { return f.Symbol == symbol })
			if i < 0 {
				t.Fatalf("no %s", symbol)
			}
			return s.Wants(callOf(Catalogue()[i]))
		}
		for _, symbol := range c.yes {
			if !wants(symbol) {
				t.Errorf("%s does not want %s", c.spec, symbol)
			}
		}
		for _, symbol := range c.noes {
			if wants(symbol) {
				t.Errorf("%s wants %s", c.spec, symbol)
			}
		}
	}
}

// callOf is some call of the function.
func callOf(f Function) Call {
	return Call{Function: f, Event: capture.Event{Kind: f.Kind}}
}

// A stop at sbrk wants its calls that unmap memory too, and so does one at brk.
func TestWantsByFunction(t *testing.T) {
	for _, name := range []string{"sbrk", "brk"} {
		f, _ := Named(name)
		call := callOf(f)
		call.Event.Kind = capture.Unmap
		for spec, want := range map[string]bool{name: true, "alloc": false, "free": false, "munmap": false} {
			if got := NewStop(mustSpec(t, spec)).Wants(call); got != want {
				t.Errorf("%s that unmaps: %s wants it: %v", name, spec, got)
			}
		}
	}
}

func TestCatalogueIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Catalogue() {
		if seen[f.Symbol] {
			t.Errorf("%s is listed twice", f.Symbol)
		}
		seen[f.Symbol] = true
		frees := f.Kind == capture.Free || f.Kind == capture.Unmap
		switch {
		case f.Name == "" || f.Group == "":
			t.Errorf("%+v has no name or group", f)
		case frees != (f.Result == NoTest) && f.Group != GroupGo:
			t.Errorf("%s: %s with result %d", f.Symbol, f.Kind, f.Result)
		case frees && f.Ptr.From != Argument && f.Group != GroupGo:
			t.Errorf("%s frees nothing", f.Symbol)
		case !frees && f.Size.From == Nowhere && f.Symbol != "brk":
			t.Errorf("%s has no size", f.Symbol)
		case f.Kind == capture.Realloc && f.Old.From != Argument:
			t.Errorf("%s has no old block", f.Symbol)
		}
	}
}

// `alloc #N` is whatever the event of that number is; with another word it has to
// be that, too.
func TestWantsTheEventOfANumber(t *testing.T) {
	byName := map[string]Function{}
	for _, f := range Catalogue() {
		byName[f.Symbol] = f
	}
	for _, c := range []struct {
		text, function string
		want           bool
	}{
		{"alloc #3", "malloc", true}, {"alloc #3", "free", true}, {"alloc #3", "mmap", true},
		{"free #3", "free", true}, {"free #3", "malloc", false},
		{"malloc #3", "malloc", true}, {"malloc #3", "calloc", false}, {"malloc #3", "free", false},
	} {
		spec, err := ParseSpec(c.text)
		if err != nil {
			t.Fatal(err)
		}
		call := Call{Function: byName[c.function]}
		call.begin()
		if st := (&Stop{Spec: spec}); st.Wants(call) != c.want {
			t.Errorf("break %s wants a %s: %v", c.text, c.function, !c.want)
		}
	}
}
