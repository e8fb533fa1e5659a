package testprogs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A historyCall is a call that the program histories made.
type historyCall struct {
	phase          int
	kind, function string
	thread         int
	old, addr      uint64
	size           uint64
}

// A historyModel follows the calls that were recorded by a map from addresses to blocks. It
// is the plainest account of what hdb may know: nothing of the calls of phases that were not
// recorded but that the address of a block was handed out again.
type historyModel struct {
	live map[uint64]historyBlock
	sums map[string]map[string]historySum // by key, as in top per KEY, and its value
	now  historySum                       // of all
	last uint64                           // the address of the block made last, 0 if there is none or nobody knows
	peak uint64
}

type historyBlock struct {
	size uint64
	keys map[string]string
}

// A historySum has the names that a row of top has in JSON.
type historySum struct {
	Bytes     uint64 `json:"allocated_bytes"`
	Count     uint64 `json:"allocations"`
	Live      uint64 `json:"live_bytes"`
	Blocks    uint64 `json:"live_blocks"`
	Temporary uint64 `json:"temporary_blocks"`
	Peak      uint64 `json:"peak_bytes"`
}

func newHistoryModel() *historyModel {
	m := &historyModel{live: map[uint64]historyBlock{}, sums: map[string]map[string]historySum{}}
	for _, key := range []string{"function", "thread", "size"} {
		m.sums[key] = map[string]historySum{}
	}
	return m
}

// call follows a call that was recorded.
func (m *historyModel) call(c historyCall) {
	switch c.kind {
	case "f":
		m.end(c.addr, true)
		return
	case "r":
		if c.addr != c.old {
			m.end(c.addr, false) // nobody saw its end
		}
		m.end(c.old, true)
	default:
		m.end(c.addr, false)
	}
	b := historyBlock{c.size, map[string]string{
		"function": map[string]string{"a": "make_", "r": "grow_"}[c.kind] + c.function,
		"thread":   fmt.Sprintf("thread %d \"histories\"", c.thread+1),
		"size":     fmt.Sprintf("%d bytes", c.size),
	}}
	m.live[c.addr], m.last = b, c.addr
	m.add(b, func(s *historySum) {
		s.Bytes, s.Count, s.Live, s.Blocks = s.Bytes+b.size, s.Count+1, s.Live+b.size, s.Blocks+1
	})
	if m.now.Live > m.peak {
		m.peak = m.now.Live
		for _, sums := range m.sums {
			for name, s := range sums {
				s.Peak = s.Live
				sums[name] = s
			}
		}
	}
}

// end ends the block at an address, if there is one. seen tells that a call did.
func (m *historyModel) end(addr uint64, seen bool) {
	b, ok := m.live[addr]
	if !ok {
		return
	}
	delete(m.live, addr)
	temporary := uint64(0)
	if seen && addr == m.last {
		temporary = 1
	}
	m.add(b, func(s *historySum) { s.Live, s.Blocks, s.Temporary = s.Live-b.size, s.Blocks-1, s.Temporary+temporary })
}

func (m *historyModel) add(b historyBlock, change func(*historySum)) {
	change(&m.now)
	for key, sums := range m.sums {
		s := sums[b.keys[key]]
		change(&s)
		sums[b.keys[key]] = s
	}
}

// TestHistories records random histories with phases in which nothing is recorded, and holds
// all that counts blocks against a map from addresses to blocks: by the probe and by plain
// breakpoints, while the program stands and in the capture.
func TestHistories(t *testing.T) {
	hdb, program := HDB(t), Build(t, "histories")
	const phases, calls = 7, 120
	unseen := false
	for n := range Rounds(3, 40) {
		seed := n * 7 % 40 // 7 is among the first three: it found a block that was taken for a larger one of before a pause
		for _, probe := range []string{"on", "off"} {
			t.Run(fmt.Sprintf("%d, probe %s", seed, probe), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "history.hdb")
				script := []string{"set probe " + probe, "set confirm off", "break phase", "break done", "run"}
				for phase := range phases {
					script = append(script, []string{"record start", "record stop"}[phase%2], "continue")
				}
				script = append(append(script, historyQuestions...), "save "+file, "delete", "continue")
				said := runHistory(t, hdb, script, "--args", program, fmt.Sprint(seed+1), fmt.Sprint(phases), fmt.Sprint(calls))
				m, seen := newHistoryModel(), uint64(0)
				for _, c := range historyCalls(t, said) {
					if c.phase%2 == 0 {
						m.call(c)
						seen++
					} else {
						m.last = 0
					}
				}
				events := m.check(t, "live", said)
				unseen = unseen || events > seen
				m.check(t, "saved", runHistory(t, hdb, historyQuestions, "open", file))
			})
		}
	}
	if !unseen {
		t.Error("in no history a realloc found a block at its new address")
	}
}

var historyQuestions = []string{
	"live all", "stats", "leaks 1000", "temporary 1000", "timeline", "top 100 by live per function", "top 100 by bytes per thread",
	"top 100 by count per size", "top 100 by peak per function", "top 100 by peak per thread", "top 100 by peak per size", "top 100 by temporary per size", "diff peak end per function",
}

// runHistory is what hdb prints of a script.
func runHistory(t *testing.T, hdb string, script []string, args ...string) []byte {
	t.Helper()
	ctx, cancel := Context(t)
	defer cancel()
	line := []string{"--json", "-nx", "-batch"}
	for _, command := range script {
		line = append(line, "-ex", command)
	}
	var said, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, hdb, append(line, args...)...)
	cmd.Stdout, cmd.Stderr = &said, &complaints
	if err := cmd.Run(); err != nil {
		t.Fatalf("%q: %v\n%s%s", script, err, said.Bytes(), complaints.Bytes())
	}
	return said.Bytes()
}

// historyCalls are the calls that the program printed.
func historyCalls(t *testing.T, said []byte) (calls []historyCall) {
	t.Helper()
	for line := range strings.Lines(string(said)) {
		f := strings.Fields(line)
		if len(f) != 7 || strings.HasPrefix(line, "{") {
			continue
		}
		number := func(s string) uint64 {
			n, err := strconv.ParseUint(strings.Replace(s, "(nil)", "0", 1), 0, 64)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			return n
		}
		calls = append(calls, historyCall{int(number(f[0])), f[1], f[2], int(number(f[3])), number(f[4]), number(f[5]), number(f[6])})
	}
	return calls
}

// An answer is what the questions are answered in, those fields that are looked at.
type historyAnswer struct {
	Command string
	Measure string
	Per     string
	Events  json.RawMessage // of live
	Count   uint64          `json:"event_count"` // of stats
	Rows    []struct {
		Function string
		Size     uint64
		historySum
	}
	historySum
	Heap []struct {
		Live uint64 `json:"live_bytes"`
	}
}

// check holds the answers against the model. It returns the number of events there are.
func (m *historyModel) check(t *testing.T, what string, said []byte) (events uint64) {
	t.Helper()
	answered := 0
	for line := range bytes.Lines(said) {
		var a historyAnswer
		if json.Unmarshal(line, &a) != nil {
			continue
		}
		switch a.Command {
		case "live":
			m.checkLive(t, what, a.Events)
		case "stats":
			events = a.Count
			got := a.historySum
			want := m.now
			want.Peak = m.peak
			if got != want {
				t.Errorf("%s: stats say %+v, want %+v", what, got, want)
			}
		case "timeline":
			highest := uint64(0)
			for _, p := range a.Heap {
				highest = max(highest, p.Live)
			}
			if last := a.Heap[len(a.Heap)-1].Live; highest != m.peak || last != m.now.Live || a.Peak != m.peak {
				t.Errorf("%s: the timeline has a peak of %d (%d) and ends with %d, want %d and %d", what, highest, a.Peak, last, m.peak, m.now.Live)
			}
		case "top":
			m.checkRows(t, what, a, a.Per)
		case "diff":
			m.checkDiff(t, what, line)
		case "leaks", "temporary":
			if a.Command == "leaks" && strings.HasPrefix(what, "live") {
				break // it searches memory there: TestHeld
			}
			m.checkRows(t, what, a, "function")
		default:
			continue
		}
		answered++
	}
	if answered != len(historyQuestions) {
		t.Errorf("%s: %d of %d questions were answered:\n%s", what, answered, len(historyQuestions), said)
	}
	return events
}

// checkLive holds the list of live blocks against the model's.
func (m *historyModel) checkLive(t *testing.T, what string, list json.RawMessage) {
	t.Helper()
	var blocks []struct {
		Address string
		Size    uint64
	}
	if err := json.Unmarshal(list, &blocks); err != nil {
		t.Fatal(err)
	}
	got, want := map[string]uint64{}, map[string]uint64{}
	for _, b := range blocks {
		got[b.Address] = b.Size
	}
	for addr, b := range m.live {
		want[fmt.Sprintf("%#x", addr)] = b.size
	}
	if diff := cmp.Diff(want, got); diff != "" || len(blocks) != len(want) {
		t.Errorf("%s: live blocks (- want, + got):\n%s", what, diff)
	}
}

// checkDiff holds what changed since the peak against the model's.
func (m *historyModel) checkDiff(t *testing.T, what string, answer []byte) {
	t.Helper()
	var a struct {
		From    uint64 `json:"from_live_bytes"`
		To      uint64 `json:"to_live_bytes"`
		Changes []struct {
			Function string
			Bytes    int64 `json:"change_bytes"`
		}
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		t.Fatal(err)
	}
	got, want := map[string]int64{}, map[string]int64{}
	for _, c := range a.Changes {
		got[c.Function] += c.Bytes
	}
	maps.DeleteFunc(got, func(_ string, bytes int64) bool { return bytes == 0 })
	for name, s := range m.sums["function"] {
		if change := int64(s.Live) - int64(s.Peak); change != 0 {
			want[name] = change
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || a.From != m.peak || a.To != m.now.Live {
		t.Errorf("%s: diff of the peak and the end from %d to %d, want %d to %d (- want, + got):\n%s", what, a.From, a.To, m.peak, m.now.Live, diff)
	}
}

// asked is what of the sum is asked for: nothing of a row that is left out.
func (s historySum) asked(by string) historySum {
	switch by {
	case "live":
		return historySum{Live: s.Live, Blocks: s.Blocks}
	case "temporary":
		return historySum{Temporary: s.Temporary}
	case "peak":
		return historySum{Peak: s.Peak}
	}
	return historySum{Bytes: s.Bytes, Count: s.Count}
}

// checkRows holds the rows by a key, of stacks added up by function, against the model's.
func (m *historyModel) checkRows(t *testing.T, what string, a historyAnswer, key string) {
	t.Helper()
	got, want := map[string]historySum{}, maps.Clone(m.sums[key])
	for _, r := range a.Rows {
		name := r.Function
		if key == "size" {
			name = fmt.Sprintf("%d bytes", r.Size)
		}
		s := got[name]
		s.Bytes, s.Count, s.Live, s.Blocks, s.Temporary = s.Bytes+r.Bytes, s.Count+r.Count, s.Live+r.Live, s.Blocks+r.Blocks, s.Temporary+r.Temporary
		s.Peak += r.Peak
		got[name] = s
	}
	for name, s := range want {
		if a.Measure != "peak" {
			s.Peak = 0
		}
		if want[name] = s; s.asked(a.Measure) == (historySum{}) {
			delete(want, name)
		}
	}
	if a.Command != "top" { // of the stacks that have any
		for _, sums := range []map[string]historySum{got, want} {
			for name, s := range sums {
				sums[name] = s.asked(a.Measure)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s by %s per %s (- want, + got):\n%s", what, a.Command, a.Measure, key, diff)
	}
}
