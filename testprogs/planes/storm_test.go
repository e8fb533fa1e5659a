package planes

import (
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hdb/capture"
)

// A storm is a program that does what debuggers and agents trip over, all the
// time. It checks itself and tells how many calls it made.
type storm struct {
	name  string
	flags []string
	args  string // with %d for how much
	much  scale

	script []string // hdb's commands instead of "run"
	says   string   // hdb must say so
	refuse string   // why there can be no probe, which hdb must say; breakpoints follow the calls
	unseen bool     // calls cannot be followed
	varies bool     // what the program does and prints depends on time
	races  bool     // which of its threads does it depends on time
	check  func(t *testing.T, s *sums)
}

// A scale is how much of it there is, by plane and form of the test.
type scale struct{ plainShort, plainFull, probeShort, probeFull int }

func (m scale) of(p plane, short bool) int {
	switch {
	case p == plain && short:
		return m.plainShort
	case p == plain:
		return m.plainFull
	case short:
		return m.probeShort
	}
	return m.probeFull
}

// runs is how often the full form repeats a storm in which threads race.
const runs = 50

var storms = []storm{
	{name: "storm_signals", args: "1000 %d 1", much: scale{2, 50, 50, 10000}, varies: true},
	{name: "storm_signals", args: "10000 %d 2", much: scale{4, 300, 100, 5000}, varies: true},
	{name: "storm_signals", args: "10000 %d 2 alt", much: scale{4, 300, 100, 5000}, varies: true},
	{name: "storm_signals", flags: []string{"-DOWN"}, args: "5000 %d 2", much: scale{50, 3000, 100, 5000}, varies: true, check: handlersInside},
	{name: "storm_signals", flags: []string{"-DOWN"}, args: "5000 %d 2 alt", much: scale{50, 3000, 100, 5000}, varies: true, check: handlersInside},
	{name: "storm_threads", args: "16 %d", much: scale{60, 3000, 5000, 100000}, varies: true},
	{name: "storm_threads", flags: []string{"STRIP"}, args: "4 %d", much: scale{60, 3000, 5000, 100000}, varies: true},
	{name: "storm_threads", flags: []string{"-Wl,-z,now"}, args: "4 %d", much: scale{60, 3000, 5000, 100000}, varies: true},
	{name: "storm_threads", flags: []string{"-Wl,-z,lazy", "-no-pie"}, args: "4 %d", much: scale{60, 3000, 5000, 100000}, varies: true},
	{name: "storm_threads", flags: []string{"-static"}, args: "4 %d", much: scale{60, 3000, 5000, 100000}, varies: true},
	{name: "storm_threads", flags: []string{"-static-pie"}, args: "4 %d", much: scale{60, 3000, 5000, 100000}, varies: true},
	{name: "storm_threads", flags: []string{"-static-pie", "STRIP"}, args: "4 %d", much: scale{200, 200, 200, 200}, varies: true, unseen: true, says: "no allocator function is known"},
	{name: "storm_threads", flags: []string{"CC=musl-gcc"}, args: "4 %d", much: scale{60, 3000, 5000, 100000}, varies: true},
	{name: "storm_threads", flags: []string{"CC=musl-gcc", "-static"}, args: "4 %d", much: scale{60, 3000, 5000, 100000}, varies: true},
	{name: "storm_forks", args: "%d", much: scale{40, 1000, 200, 1000}, varies: true},
	{name: "storm_churn", args: "%d", much: scale{160, 10000, 800, 10000}, races: true},
	{name: "storm_dlopen", args: "%d", much: scale{10, 300, 50, 1000}, varies: true},
	{name: "storm_namespaces", args: "%d 3 200", much: scale{2, 50, 2, 300}, varies: true},
	{name: "storm_realloc", args: "4 %d", much: scale{40, 2000, 4000, 200000}, races: true},
	{name: "storm_guard", args: "%d", much: scale{1024, 512, 2048, 1024}},
	{name: "storm_throw", args: "%d", much: scale{20, 500, 500, 5000}, check: newHandlers},
	{name: "storm_jump", args: "raise %d", much: scale{300, 5000, 3000, 50000}},
	{name: "storm_jump", args: "timer %d", much: scale{3, 50, 100, 1000}, varies: true},
	{name: "storm_coroutines", args: "%d", much: scale{32, 640, 320, 6400}},
	{name: "storm_exec", args: "%d 4", much: scale{3, 30, 4, 50}},
	{name: "storm_deep", args: "%d 1", much: scale{100, 3000, 1000, 3000}},
	{name: "storm_jit", args: "%d", much: scale{5, 100, 50, 1000}},
	{name: "storm_ifunc", args: "%d", much: scale{10, 10, 10, 10}, unseen: true, says: "IFUNC"},
	{name: "storm_limits", args: "%d", much: scale{1, 20, 3, 20}, varies: true},
	{name: "storm_limits", args: "%d 40", much: scale{1, 20, 3, 20}, varies: true, refuse: "RLIMIT_AS"},
	{name: "storm_seccomp", args: "here %d", much: scale{50, 1000, 1000, 10000}},
	{name: "storm_seccomp", flags: []string{"-static"}, args: "exec %d", much: scale{50, 1000, 50, 1000}, refuse: "seccomp"},
	{name: "storm_private", args: "dumpable %d", much: scale{50, 1000, 1000, 10000}},
	{name: "storm_private", args: "user %d", much: scale{50, 1000, 1000, 10000}},
}

// TestStorms records each storm in each plane, and compares what it says it did
// with the capture, and what it printed with what it prints when it runs alone.
func TestStorms(t *testing.T) {
	for _, p := range planes {
		for _, s := range storms {
			t.Run(fmt.Sprintf("%s/%s", p, s.title()), func(t *testing.T) {
				t.Parallel()
				s.run(t, p)
			})
		}
	}
}

// TestStormThreadsOften repeats the race of sixteen threads.
func TestStormThreadsOften(t *testing.T) {
	if testing.Short() {
		t.Skip("TestStorms has it once")
	}
	i := slices.IndexFunc(storms, func(s storm) bool { return s.name == "storm_threads" })
	for _, p := range planes {
		for k := range runs {
			t.Run(fmt.Sprintf("%s/%d", p, k+1), func(t *testing.T) { storms[i].run(t, p) })
		}
	}
}

func (s storm) title() string {
	return strings.Join(append(append([]string{s.name}, s.flags...), strings.ReplaceAll(s.args, "%d", "N")), " ")
}

// job is the storm with that much of it.
func (s storm) job(t testing.TB, much int) job {
	j := program(t, s.name, s.flags, strings.Fields(strings.ReplaceAll(s.args, "%d", strconv.Itoa(much)))...)
	j.Script = s.script
	return j
}

func (s storm) run(t *testing.T, p plane) {
	t.Helper()
	j := s.job(t, s.much.of(p, testing.Short()))
	if p == probe && s.refuse != "" {
		p, s.says = either, s.refuse
	}
	r := record(t, p, j)
	if r.ending() != "exited with code 0" {
		t.Fatalf("%q\n%s%s", r.ending(), r.said, r.out)
	}
	if !strings.Contains(r.said, s.says) {
		t.Errorf("hdb does not say %q:\n%s", s.says, r.said)
	}
	if strings.Contains(r.said, "lost:") {
		t.Errorf("calls were lost:\n%s", r.said)
	}
	if !s.varies {
		alone, err := exec.Command(j.Path, j.Args...).Output()
		if err != nil || string(alone) != r.out {
			t.Errorf("printed %q, and alone %q, %v", r.out, alone, err)
		}
	}
	sum := newSums(r)
	if s.check == nil {
		s.check = sameCalls
	}
	if s.unseen {
		return
	}
	s.check(t, sum)
	if _, wrong := sum.live(); wrong != nil && !t.Failed() {
		t.Errorf("the events cannot be: %v", wrong)
	}
}

// sums are what the program says it did and what the capture has of it.
type sums struct {
	*calls
	said      map[string]int // by words before numbers
	made      map[string]int // calls by function
	seen      map[string]int
	abandoned int
}

func newSums(r *recording) *sums {
	s := &sums{calls: newCalls(r), said: map[string]int{}, made: map[string]int{}, seen: map[string]int{}}
	for line := range strings.Lines(r.out) {
		into := s.said
		words := strings.Fields(line)
		if len(words) > 0 && words[0] == "calls" {
			into, words = s.made, words[1:]
		}
		for i := 1; i < len(words); i += 2 {
			if n, err := strconv.Atoi(words[i]); err == nil {
				into[strings.ReplaceAll(words[i-1], "_", " ")] = n
			}
		}
	}
	for e := range s.own() {
		name := s.function(e)
		if e.Kind == capture.Free && name != "free" && !strings.HasPrefix(name, "operator delete") {
			continue // the end of a block that another thread was handed before realloc returned
		}
		s.seen[name]++
		if e.Abandoned {
			s.abandoned++
		}
	}
	return s
}

// sameCalls is the usual check: as many calls of each function, as many abandoned.
func sameCalls(t *testing.T, s *sums) {
	t.Helper()
	if len(s.made) == 0 {
		t.Errorf("the program told no calls: %q", s.out)
	}
	for _, name := range slices.Sorted(maps.Keys(s.made)) {
		if want := s.made[name]; s.seen[name] != want {
			t.Errorf("%d calls of %s in the capture, the program made %d", s.seen[name], name, want)
		}
	}
	if s.abandoned != s.said["abandoned"] {
		t.Errorf("%d calls abandoned in the capture, the program says %d", s.abandoned, s.said["abandoned"])
	}
}

// handlersInside is for handlers that interrupt the allocator itself and call
// it. All calls of the threads are events. Those of a handler that interrupted
// one may belong to that one: with the probe few, with plain breakpoints, which have
// threads in calls for most of the time, as many as the machine is slow.
func handlersInside(t *testing.T, s *sums) {
	t.Helper()
	const largest = 40 // of a handler's blocks
	seen, handlers := map[string]int{}, map[string]int{}
	for e := range s.own() {
		if e.Size > largest {
			seen[s.function(e)]++
		} else {
			handlers[s.function(e)]++
		}
	}
	for _, name := range []string{"malloc", "free"} {
		byHandlers := s.said["handler"]
		if want := s.made[name] - byHandlers; seen[name] != want {
			t.Errorf("%d calls of %s by the threads in the capture, they made %d", seen[name], name, want)
		}
		least := byHandlers / 2
		if s.plane == plain {
			least = 1
		}
		if n := handlers[name]; n > byHandlers || n < least {
			t.Errorf("%d calls of %s by handlers in the capture, they made %d", n, name, byHandlers)
		}
		t.Logf("%s: %d calls, and %d of %d by handlers", name, seen[name], handlers[name], byHandlers)
	}
}

// newHandlers is for new-handlers: what one allocates and frees inside operator new are
// calls of the program's own.
func newHandlers(t *testing.T, s *sums) {
	t.Helper()
	const reserve, note = 5000, 60 // bytes
	sameCalls(t, s)
	seen := map[uint64]int{}
	for e := range s.own() {
		if e.Kind == capture.Free || s.function(e) == "malloc" {
			seen[e.Size]++
		}
	}
	if want := 2 * s.said["reserves"]; seen[reserve] != want {
		t.Errorf("%d calls for reserves, the program made %d", seen[reserve], want)
	}
	// The handler takes and gives back two for each reserve, inside operator new.
	if want := 4 * s.said["reserves"]; seen[note] != want {
		t.Errorf("%d calls for notes, the program's handler made %d", seen[note], want)
	}
}

// TestTimes has the times of events go on: over stops, executed programs, loaded
// libraries and more threads than processors.
func TestTimes(t *testing.T) {
	spin := program(t, "spin", nil)
	spin.Script = []string{"break alloc #500", "RUN", "next-alloc 100", "next-alloc 100"}
	for _, p := range planes {
		for name, j := range map[string]job{
			"exec": program(t, "storm_exec", nil, "3", "2"), "dlopen": program(t, "storm_dlopen", nil, "5"),
			"threads": program(t, "storm_threads", nil, "16", "200"), "stops": spin,
		} {
			t.Run(fmt.Sprintf("%s/%s", p, name), func(t *testing.T) {
				t.Parallel()
				if wrong := newCalls(record(t, p, j)).clock(); wrong != nil {
					t.Error(wrong)
				}
			})
		}
	}
}

// TestTimesDiffer has few events of one time, whoever lost the processor when: a thread
// that was writing its record, or hdb.
func TestTimesDiffer(t *testing.T) {
	const many = 1000 // in a microsecond
	for range 3 {
		at := map[time.Duration]int{}
		for e := range newCalls(record(t, probe, program(t, "storm_threads", nil, "16", "3000"))).Events(0) {
			if at[e.Time]++; at[e.Time] == many {
				t.Errorf("%d events at %v", many, e.Time)
			}
		}
	}
}

// liveLine is what hdb says of the live heap, in `live` and in `record status`.
var liveLine = regexp.MustCompile(`(?m)^live: .*\bin ([0-9,]+) (?:recorded )?blocks?\b`)

// TestLiveAfterExec has the list of live blocks end with the program that held
// them: it executed another one, and its blocks are gone.
func TestLiveAfterExec(t *testing.T) {
	for _, p := range planes {
		j := program(t, "storm_exec", nil, "3", "0")
		j.Script = []string{"RUN", "live"}
		r := record(t, p, j)
		m := liveLine.FindAllStringSubmatch(r.said, -1)
		if len(m) != 2 || m[0][1] != m[1][1] || m[0][1] != "2" { // what was left behind, and the buffer of standard output
			t.Errorf("%s plane: live and record status tell of %q blocks, want 2 in both\n%s", p, m, r.said)
		}
	}
}
