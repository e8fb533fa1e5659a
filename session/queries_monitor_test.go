package session

import (
	"slices"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/heap"
	"hdb/query"
	"hdb/session/recordings"
	"hdb/session/target"
	"hdb/testprogs"
)

// What a monitor has by functions is what top has, and each function on a stack has
// what was allocated there in its total, once.
func TestMonitorIsTop(t *testing.T) {
	for _, name := range []string{"demo", "deep", "inlined", "threads", "exceptions", "owners", "golang"} {
		if testing.Short() && (name == "demo" || name == "exceptions") {
			continue // their stacks are like those of the others
		}
		t.Run(name, func(t *testing.T) {
			s := New(target.Config{})
			defer s.Close()
			if _, err := s.Load(testprogs.Build(t, name)); err != nil {
				t.Fatal(err)
			}
			if err := s.Recorder.Start(); err != nil {
				t.Fatal(err)
			}
			args := "> /dev/null 2>&1 < /dev/null"
			s.Settings.Apart = true
			if _, err := s.StartInstruction(&args); err != nil {
				t.Fatal(err)
			}
			m, err := s.Queries.NewMonitor()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Execution.Continue(1); err != nil {
				t.Fatal(err)
			}
			if err := m.Update(); err != nil || !m.Name(0) {
				t.Fatal(err)
			}
			for !m.CountThreads(0, heap.End) {
			}
			checkMonitor(t, s, m)
		})
	}
}

// siteKey tells functions apart.
type siteKey struct{ function, file, module string }

func checkMonitor(t *testing.T, s *Session, m *recordings.Monitor) {
	t.Helper()
	src, err := s.Recorded.SomeSource()
	if err != nil {
		t.Fatal(err)
	}
	if now := m.Totals(); now.Events != uint64(src.Len()) || now.Events == 0 {
		t.Errorf("%d events of %d", now.Events, src.Len())
	}
	total := map[siteKey]query.MonitorSum{}
	for id := 0; id <= src.Stacks(); id++ {
		flows := m.Totals().Flows
		if id >= len(flows) || flows[id].Allocs == 0 {
			continue
		}
		st := s.target.Names.RecordedStack(src, capture.StackID(id), heap.End)
		if len(st.Frames) == 0 {
			continue
		}
		seen := map[siteKey]bool{}
		for _, f := range st.Frames[s.Selection.UserFrame(st.Frames):] {
			key := siteKey{f.Name(), f.File, f.Module}
			if sum := total[key]; !seen[key] {
				sum.Add(&flows[id])
				total[key], seen[key] = sum, true
			}
		}
	}
	rows, err := s.Queries.Top(heap.ByLive, query.PerFunction)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range m.Rows() {
		key := siteKey{r.Site.Function, r.Site.File, r.Site.Module}
		if want := total[key]; r.Total != want && r.Site.Function != "(no stack)" {
			t.Errorf("%v: total %+v, want %+v", key, r.Total, want)
		}
		if strings.HasPrefix(r.Site.Function, "[") {
			continue // top has a row for each such address
		}
		i := slices.IndexFunc(rows, func(o heap.Row) bool {
			return o.Site.Function == r.Site.Function && o.Site.File == r.Site.File && o.Site.Module == r.Site.Module
		})
		want := query.MonitorSum{}
		if i >= 0 {
			want = query.MonitorSum{Bytes: rows[i].Bytes, Count: rows[i].Count, LiveBytes: rows[i].LiveBytes, LiveCount: rows[i].LiveBlocks, Temporary: rows[i].Temporary}
		}
		if r.Own != want {
			t.Errorf("%v: own %+v, want %+v", key, r.Own, want)
		}
	}
	var merged, threads query.MonitorSum
	for _, r := range m.Rows() {
		merged = plus(merged, r.Own)
	}
	for _, r := range m.ThreadRows() {
		threads = plus(threads, r.Own)
	}
	if merged != threads || merged.LiveBytes != m.Totals().Live {
		t.Errorf("%d live, all threads %+v, their sum %+v", m.Totals().Live, merged, threads)
	}
}

func plus(n, o query.MonitorSum) query.MonitorSum {
	return query.MonitorSum{
		Bytes: n.Bytes + o.Bytes, Count: n.Count + o.Count,
		LiveBytes: n.LiveBytes + o.LiveBytes, LiveCount: n.LiveCount + o.LiveCount, Temporary: n.Temporary + o.Temporary,
	}
}

func TestMonitorNeedsAProcess(t *testing.T) {
	if _, err := New(target.Config{}).Queries.NewMonitor(); err == nil {
		t.Error("there is one of nothing")
	}
	New(target.Config{}).Alongside(func() { t.Error("called without a process") })
}
