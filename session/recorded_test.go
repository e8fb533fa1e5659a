package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/query"
	"hdb/report"
	"hdb/session/target"
)

// ask has DuckDB answer queries about a recording's tables, a line each.
func ask(t *testing.T, r *report.Recording, queries ...string) []string {
	t.Helper()
	dir := t.TempDir()
	if err := report.WriteParquet(dir, r); err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, q := range queries {
		for _, table := range []string{"runs", "frames", "stacks", "modules", "events"} {
			q = strings.ReplaceAll(q, "FROM "+table, fmt.Sprintf("from '%s/%s/**/*.parquet'", dir, table))
		}
		all = append(all, q)
	}
	in, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "../report/testdata/duckdb.mjs", filepath.Join(cache, "hdb-test", "npm"))
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v: run scripts/need test and scripts/npm\n%s", err, stderr.Bytes())
	}
	var answers [][][]string
	if err := json.Unmarshal(out, &answers); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	var lines []string
	for _, rows := range answers {
		var line []string
		for _, row := range rows {
			line = append(line, strings.Join(row, " "))
		}
		lines = append(lines, strings.Join(line, "; "))
	}
	return lines
}

// get is must for what is no stop.
func get[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// TestTablesSayWhatTheProfileSays records a program and adds it up twice.
func TestTablesSayWhatTheProfileSays(t *testing.T) {
	s := open(t, "phases")
	path := streamTo(t, s)
	must(t)(s.Execution.Continue(1))
	if _, err := s.Recorder.EndStream(); err != nil {
		t.Fatal(err)
	}
	saved := reopen(t, path)
	p := get[*report.Profile](t)(saved.Queries.Profile(query.ProfileParts{}))
	r := get[*report.Recording](t)(saved.Queries.Recording())
	total := p.Total()
	got := ask(t, r,
		"select count(*), count(*) filter (makes), sum(size) filter (makes), sum(if(makes, size, 0)) - sum(ended_size) FROM events",
		"select events, blocks, bytes, live_bytes, live_blocks, peak_bytes, failed, lost FROM runs",
		// What is live, by the function that allocated it.
		`select f.function, sum(e.n) from (select stack, size as n FROM events where makes
			union all select ended_stack, -ended_size::int64 FROM events where ends) e
			join (select stack, frame FROM stacks where depth = 0) s using (stack) join (select frame, function FROM frames) f using (frame)
			group by f.function having sum(e.n) > 0 order by 2`,
		// How long blocks lived: those of requests end by the event after.
		"select count(*) from (select * FROM events) e join (select * FROM events) m on e.ended_seq = m.seq where m.size = 64 and e.seq = m.seq + 1",
		"select distinct m.path from (select * FROM modules) m join (select * FROM frames) f using (module) where f.function = 'load'",
	)
	module := ""
	for _, m := range p.Modules {
		if filepath.Base(m.Path) == filepath.Base(p.Program) {
			module = m.Path
		}
	}
	want := []string{
		fmt.Sprintf("%d %d %d %d", p.Events, total.Allocs, total.Bytes, total.Live),
		fmt.Sprintf("%d %d %d %d %d %d %d %d", p.Events, total.Allocs, total.Bytes, p.Moment.Live, p.Moment.Blocks, p.Peak.Live, p.Failed, p.Lost),
		"serve 600", "30", module,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("DuckDB says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if total.Live != 600 || total.Allocs != 55 {
		t.Errorf("the profile has %+v", total)
	}
	// As of an earlier moment.
	must(t)(saved.Travel.Goto(query.ParseMoment("50%")))
	p = get[*report.Profile](t)(saved.Queries.Profile(query.ProfileParts{}))
	r = get[*report.Recording](t)(saved.Queries.Recording())
	if got, want := ask(t, r, "select events, live_bytes, peak_bytes FROM runs")[0], fmt.Sprintf("%d %d %d", p.Events, p.Moment.Live, p.Peak.Live); got != want {
		t.Errorf("at 50%%: DuckDB says %s, want %s", got, want)
	}
}

func TestBaseline(t *testing.T) {
	s := open(t, "phases")
	path := streamTo(t, s)
	must(t)(s.Execution.Continue(1))
	if _, err := s.Recorder.EndStream(); err != nil {
		t.Fatal(err)
	}
	saved := reopen(t, path)
	p := get[*report.Profile](t)(saved.Queries.WholeProfile())
	for since, want := range map[string]uint64{"start": 0, "#1": 1000, "50%": 20_264} {
		b, _, err := saved.Queries.Baselines(p, query.ParseMoment(since))
		if err != nil {
			t.Fatal(err)
		}
		sum := uint64(0)
		for _, n := range b.Live {
			sum += n
		}
		if b.Moment.Live != want || sum != want {
			t.Errorf("at %s %d bytes, %d by stack, want %d", since, b.Moment.Live, sum, want)
		}
	}
	for _, since := range []string{"nowhere", "end", "9999s"} { // nothing is compared with itself
		if _, _, err := saved.Queries.Baselines(p, query.ParseMoment(since)); err == nil {
			t.Errorf("no error since %s", since)
		}
	}
}

// A capture that its recorder did not close, or that is damaged, says so in what is
// added up of it, too.
func TestUnclosedIsPartial(t *testing.T) {
	s := open(t, "phases")
	path := streamTo(t, s)
	must(t)(s.Execution.Continue(1))
	if _, err := s.Recorder.EndStream(); err != nil {
		t.Fatal(err)
	}
	why := reopen(t, path).Recorded.Caveats().Partial
	size := get[os.FileInfo](t)(os.Stat(path)).Size()
	for _, tc := range []struct {
		size   int64
		reason capture.ReasonKind
	}{{size - 1, 0}, {size / 2, capture.OpenEnd}} { // within the index, and before the end is told
		if why.Has(tc.reason) {
			t.Errorf("whole: %+v", why)
		}
		if err := os.Truncate(path, tc.size); err != nil {
			t.Fatal(err)
		}
		cut := New(target.Config{Version: "test"})
		defer cut.Close()
		if _, err := cut.Captures.Open(path); err != nil {
			t.Fatal(err)
		}
		got := cut.Recorded.Caveats()
		if got.Damage == nil || tc.reason == 0 && !slices.Equal(got.Partial, why) || tc.reason != 0 && !got.Partial.Has(tc.reason) {
			t.Errorf("cut at %d: %+v, want %d", tc.size, got, tc.reason)
		}
	}
}
