package console

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestLeaksCountAsAssert: leaks leaves out what assert does, says how much that is, and has all
// of it with --strict.
func TestLeaksCountAsAssert(t *testing.T) {
	type leaks struct {
		Kept  uint64 `json:"runtime_live_bytes"`
		Total int
		Rows  []struct {
			Live uint64 `json:"live_bytes"`
		}
	}
	st := newStage(t, func(cfg *Config) { cfg.JSON = true }, "file "+testprogs.Build(t, "wide"), "record start", "break ready if round == 3", "run",
		"leaks 100 --all", "leaks 100 --all --strict", "leaks since #1 --strict", "leaks 100 since #1", "assert --no-leaks")
	st.Run()
	var all []leaks
	said := ""
	for line := range strings.Lines(st.out.String()) {
		var l leaks
		switch {
		case strings.Contains(line, `"command":"leaks"`):
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatal(err)
			}
			all = append(all, l)
		case strings.Contains(line, `"assertions":`):
			said = line
		}
	}
	if len(all) != 4 {
		t.Fatalf("%s%s", &st.out, &st.err)
	}
	sum := func(l leaks) (n uint64) {
		for _, r := range l.Rows {
			n += r.Live
		}
		return n
	}
	own, kept := sum(all[0]), all[0].Kept
	if kept < 1000 || own+kept != sum(all[1]) || all[1].Kept != 0 || all[1].Total <= all[0].Total {
		t.Errorf("leaks has %d bytes and leaves out %d, with --strict it has %d and leaves out %d", own, kept, sum(all[1]), all[1].Kept)
	}
	if want := fmt.Sprintf("(%d) in ", own); !strings.Contains(said, want) {
		t.Errorf("leaks has %d bytes: %s", own, said)
	}
	if want := fmt.Sprintf("(%d) in ", kept); !strings.Contains(said, want) {
		t.Errorf("leaks leaves out %d bytes: %s", kept, said)
	}
	if all[3].Kept == 0 || all[2].Kept != 0 {
		t.Errorf("leaks since leaves out %d bytes, with --strict %d", all[3].Kept, all[2].Kept)
	}
}

// TestLeaksTellSizesApart records from within the run on: the blocks from before are known by a walk of the heap, and leaks
// says which part of its sums is of their usable sizes.
func TestLeaksTellSizesApart(t *testing.T) {
	for _, asJSON := range []bool{false, true} {
		st := newStage(t, func(cfg *Config) { cfg.JSON = asJSON }, "file "+testprogs.Build(t, "wide"), "break ready if round == 2 || round == 3", "run",
			"leaks", "record start", "continue", "leaks", "leaks since start")
		st.Run()
		const text, key = "by usable size, as they are not recorded: ", `"usable":{"definitely_lost_bytes":`
		want := text
		if asJSON {
			want = key
		}
		if out := st.out.String(); strings.Count(out, want) != 1 { // neither where all sizes are usable ones nor where none is
			t.Errorf("want %q once in\n%s%s", want, out, &st.err)
		}
	}
}

// TestLiveHasBlocksFromBefore asks at a stop of a program whose first calls were not followed: beside the recorded block
// live has those that the heap itself has; leaks, whose sums have them, does not count them again.
func TestLiveHasBlocksFromBefore(t *testing.T) {
	lines := []string{"file " + testprogs.Build(t, "wide"), "break ready if round == 2", "run", "live 1", "break alloc if nth > 2", "continue", "live 1", "top 1", "leaks 1"}
	st := newStage(t, nil, lines...)
	st.Run()
	out := st.out.String()
	var all, other int
	for line := range strings.Lines(out) {
		line = strings.ReplaceAll(line, ",", "")
		if _, rest, ok := strings.Cut(line, ") in "); ok && strings.HasPrefix(line, "live: ") && strings.Contains(line, "found in the heap itself") {
			_, _ = fmt.Sscan(rest, &all)
		} else if ok && strings.HasPrefix(line, "not recorded: ") {
			_, _ = fmt.Sscan(rest, &other)
		}
	}
	if all == 0 || other == 0 || strings.Count(out, " more live block of") != 1 ||
		!strings.Contains(out, ", and what was allocated before hdb followed the calls") {
		t.Errorf("%d blocks before the first event, %d beside the recorded one:\n%s%s", all, other, out, &st.err)
	}
	st = newStage(t, func(cfg *Config) { cfg.JSON = true }, lines...)
	st.Run()
	if want := fmt.Sprintf(`"not_recorded":%d,"not_recorded_bytes":`, other); !strings.Contains(st.out.String(), want) {
		t.Errorf("want %s in\n%s%s", want, &st.out, &st.err)
	}
}

// What lives of Go's heap counts in the first line of leaks since, too.
func TestLeaksSinceCountGo(t *testing.T) {
	st := newStage(t, nil, "file "+testprogs.Build(t, "golang"), "record start", "break main.chain", "run", "mark m", "break fmt.Fprintln", "continue", "leaks since m")
	st.Run()
	sums := regexp.MustCompile(`(?m)^(?:since m|Go): (.*?) live(: .*blocks/s|, which)`).FindAllStringSubmatch(st.out.String(), -1)
	if len(sums) != 2 || sums[0][1] != sums[1][1] || strings.HasPrefix(sums[0][1], "0 ") {
		t.Errorf("%q of\n%s%s", sums, &st.out, &st.err)
	}
}
