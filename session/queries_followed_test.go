package session

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hdb/capture"
	"hdb/capture/edit"
	"hdb/query"
	"hdb/report"
)

// recorded runs a test program to its end and opens what was recorded.
func recorded(t *testing.T, program string, flags ...string) *Session {
	t.Helper()
	s := open(t, program, flags...)
	path := streamTo(t, s)
	must(t)(s.Execution.Continue(1))
	if _, err := s.Recorder.EndStream(); err != nil {
		t.Fatal(err)
	}
	return reopen(t, path)
}

// The rows of threads add up to those of stacks, at the end, at the peak and in each
// snapshot; a thread has what it allocated, whoever gave it back.
func TestProfileOfThreads(t *testing.T) {
	saved := recorded(t, "workers")
	for _, moment := range []string{"30%", "peak", "end"} {
		must(t)(saved.Travel.Goto(query.ParseMoment(moment)))
		all := get[*report.Profile](t)(saved.Queries.Profile(query.ProfileParts{Line: true, Snapshots: true}))
		p := get[*report.Profile](t)(saved.Queries.Profile(query.ProfileParts{Line: true, Snapshots: true, Threads: true}))
		if !p.Threads || p.Total() != all.Total() || p.Peak != all.Peak || p.Moment != all.Moment || !slices.Equal(p.Timeline, all.Timeline) {
			t.Errorf("%s: %+v at %+v, peak %+v; without threads %+v at %+v, peak %+v", moment, p.Total(), p.Moment, p.Peak, all.Total(), all.Moment, all.Peak)
		}
		sums := map[capture.StackID]report.Numbers{}
		frames := map[capture.StackID][]int{}
		for _, st := range p.Stacks {
			n := sums[st.ID]
			n.Add(st.Numbers)
			sums[st.ID], frames[st.ID] = n, st.Frames
			if st.TID == 0 {
				t.Errorf("%s: stack %d has no thread", moment, st.ID)
			}
		}
		for _, st := range all.Stacks {
			if sums[st.ID] != st.Numbers || !slices.Equal(frames[st.ID], st.Frames) {
				t.Errorf("%s: stack %d has %+v with threads, %+v without", moment, st.ID, sums[st.ID], st.Numbers)
			}
		}
		if len(p.Snapshots) != len(all.Snapshots) {
			t.Fatalf("%s: %d snapshots, %d without threads", moment, len(p.Snapshots), len(all.Snapshots))
		}
		for i, at := range p.Snapshots {
			sum := uint64(0)
			for _, n := range at.Stacks {
				sum += n
			}
			if at.Moment != all.Snapshots[i].Moment || sum != at.Live {
				t.Errorf("%s: snapshot %+v with %d, without threads %+v", moment, at.Moment, sum, all.Snapshots[i].Moment)
			}
		}
	}
	reader := get[*report.Profile](t)(saved.Queries.Profile(query.ProfileParts{Thread: "reader"}))
	if n := reader.Total(); n.Allocs != 64 || n.Bytes != 64000 || n.Live != 4000 || n.LiveBlocks != 4 || n.Peak < 60000 || n.Temporary != 0 {
		t.Errorf("the reader has %+v", n)
	}
	writer := get[*report.Profile](t)(saved.Queries.Profile(query.ProfileParts{Thread: "writer"}))
	if n := writer.Total(); n.Allocs != 33 || n.Live != 7000 {
		t.Errorf("the writer has %+v", n)
	}
	if _, err := saved.Queries.Profile(query.ProfileParts{Thread: "wrong"}); err == nil {
		t.Error("a thread that there was not has a profile")
	}
	if p := get[*report.Profile](t)(recorded(t, "phases").Queries.Profile(query.ProfileParts{Threads: true})); p.Threads || len(p.Stacks) == 0 {
		t.Error("the rows of one thread are told apart")
	}
}

// A part of a recording is what the capture of that part is.
func TestProfileBetweenMoments(t *testing.T) {
	for _, program := range []string{"workers", "phases", "realloc"} {
		saved := recorded(t, program)
		for _, part := range [][2]string{{"20%", "70%"}, {"peak", "end"}, {"start", "peak"}, {"#3", "#4"}, {"90%", ""}} {
			p := get[*report.Profile](t)(saved.Queries.Profile(query.ProfileParts{Line: true, Snapshots: true, From: query.ParseMoment(part[0]), To: query.ParseMoment(part[1])}))
			from := get[query.Point](t)(saved.Queries.MomentOf(query.ParseMoment(part[0]))).Seq
			to := get[query.Point](t)(saved.Queries.MomentOf(query.ParseMoment(cmp.Or(part[1], "end")))).Seq
			path := filepath.Join(t.TempDir(), "part.hdb")
			first := from + 1
			if part[0] == "start" {
				first = from
			}
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := edit.Trim(f, saved.target.Saved, first, to); err != nil {
				t.Fatal(err)
			}
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			want := get[*report.Profile](t)(reopen(t, path).Queries.Profile(query.ProfileParts{}))
			if p.Total() != want.Total() || p.Events != want.Events || p.Peak.Live != want.Peak.Live || !slices.Equal(p.Calls, want.Calls) {
				t.Errorf("%s, %s: %+v of %d events, peak %+v, %v; trimmed %+v of %d events, peak %+v, %v", program, part, p.Total(), p.Events, p.Peak, p.Calls, want.Total(), want.Events, want.Peak, want.Calls)
			}
			if last := p.Snapshots[len(p.Snapshots)-1]; last.Live != p.Total().Live || p.Snapshots[0].Seq < first {
				t.Errorf("%s, %s: snapshots from %+v to %+v", program, part, p.Snapshots[0].Moment, last.Moment)
			}
		}
	}
}
