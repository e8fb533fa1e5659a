package session

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hdb/capture"
	"hdb/capture/edit"
	"hdb/capture/file"
	"hdb/heap"
	"hdb/query"
	"hdb/report"
)

// Snapshots of a profile add up to the heap at their moments, and the last one is
// the profile.
func TestSnapshots(t *testing.T) {
	saved := recorded(t, "phases")
	p := get[*report.Profile](t)(saved.Queries.Profile(query.ProfileParts{}))
	x := get[*heap.Index](t)(saved.Recorded.Index())
	if p.Begin == 0 || p.Begin != x.Runs()[0].Start || !slices.Equal(p.Partial, capture.Reasons{{Kind: capture.StartedLate}}) {
		t.Errorf("a recording of what main does begins at %v, because %+v; its first event is at %v", p.Begin, p.Partial, x.Runs()[0].Start)
	}
	for _, moment := range []string{"start", "30%", "peak", "end"} {
		must(t)(saved.Travel.Goto(query.ParseMoment(moment)))
		p := get[*report.Profile](t)(saved.Queries.Profile(query.ProfileParts{Line: true, Snapshots: true}))
		if n := len(p.Snapshots); n == 0 || n > query.ProfileSnapshots {
			t.Fatalf("%s: %d snapshots", moment, n)
		}
		seq, peak := uint64(0), false
		for _, at := range p.Snapshots {
			sum := uint64(0)
			for _, n := range at.Stacks {
				sum += n
			}
			if at.Seq <= seq || at.Live != sum || sum != x.Totals(at.Seq).Live {
				t.Errorf("%s: the snapshot of #%d after #%d has %d, its stacks %d, the heap %d", moment, at.Seq, seq, at.Live, sum, x.Totals(at.Seq).Live)
			}
			seq, peak = at.Seq, peak || at.Seq == p.Peak.Seq
		}
		if last := p.Snapshots[len(p.Snapshots)-1]; last.Moment != p.Moment || !peak {
			t.Errorf("%s: the last snapshot is %+v, the profile at %+v; peak %v", moment, last.Moment, p.Moment, peak)
		}
	}
}

// Snapshots have the mappings of the program, too: at the peak those that the peak has, at the end those that are left.
func TestSnapshotsOfMappings(t *testing.T) {
	p := get[*report.Profile](t)(recorded(t, "mapped").Queries.Profile(query.ProfileParts{Snapshots: true}))
	sum := func(s report.Snapshot) (n uint64) {
		for _, bytes := range s.Mapped {
			n += bytes
		}
		return n
	}
	left := uint64(0)
	for i := range p.MappedStacks {
		left += p.MappedStacks[i].Live
	}
	at := slices.IndexFunc(p.Snapshots, func(s report.Snapshot) bool { return s.Seq == p.Peak.Seq })
	if at < 0 || p.PeakMapped.Bytes == 0 || sum(p.Snapshots[at]) != p.PeakMapped.Bytes {
		t.Errorf("no snapshot of the peak #%d has %d bytes mapped: %+v", p.Peak.Seq, p.PeakMapped.Bytes, p.Snapshots)
	}
	if last := p.Snapshots[len(p.Snapshots)-1]; sum(last) != left {
		t.Errorf("%d bytes mapped at the end, want %d", sum(last), left)
	}
}

// The frame that stands for a stack in reports is that of top, with lines and
// without, and never a library's.
func TestSitesAreThoseOfTop(t *testing.T) {
	inlined := map[string]string{"lines": "zeroed", "names": "merged"} // what allocates in merged
	for name, flags := range map[string][]string{"lines": nil, "names": {"-g0"}, "no names": {"-g0", "STRIP"}} {
		t.Run(name, func(t *testing.T) {
			saved := recorded(t, "wrapped", flags...)
			src, err := saved.Recorded.Summed()
			if err != nil {
				t.Fatal(err)
			}
			x := get[*heap.Index](t)(saved.Recorded.Index())
			r := saved.Queries.RecordingOf(src, x)
			p := get[*report.Profile](t)(saved.Queries.Profile(query.ProfileParts{}))
			rows := map[string]uint64{}
			for _, st := range p.Stacks {
				f := p.Frames[st.Frames[st.Site]]
				rows[f.Function] += st.Live
				if site := r.Site(st.ID, x.Named(st.ID)); site.Function != f.Function || site.File != f.File || site.Line != f.Line || f.Library {
					t.Errorf("stack %d is shown at %+v, by top at %+v", st.ID, f, site)
				}
			}
			if name != "no names" && (rows["user"] != 1000 || rows[inlined[name]] != 100) {
				t.Errorf("functions: %v", rows)
			}
		})
	}
}

// In a merged recording a function is one row, with a name and without, in top as in
// reports: it has what both programs allocated there.
func TestMergedFunctionsAreOne(t *testing.T) {
	for name, flags := range map[string][]string{"lines": nil, "no names": {"-g0", "STRIP"}} {
		t.Run(name, func(t *testing.T) {
			a, b := recorded(t, "wrapped", flags...), recorded(t, "wrapped", flags...)
			path := filepath.Join(t.TempDir(), "merged.hdb")
			out, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := edit.Merge(out, []*file.File{a.target.Saved, b.target.Saved}); err != nil {
				t.Fatal(err)
			}
			if err := out.Close(); err != nil {
				t.Fatal(err)
			}
			merged := reopen(t, path)
			sums := func(s *Session) (top, places, tree map[string]uint64) {
				top, places, tree = map[string]uint64{}, map[string]uint64{}, map[string]uint64{}
				for _, r := range get[[]heap.Row](t)(s.Queries.Top(heap.ByBytes, query.PerFunction)) {
					top[r.Site.Function] += r.Bytes
				}
				p := get[*report.Profile](t)(s.Queries.Profile(query.ProfileParts{}))
				for _, f := range report.SummaryOf(p).Functions {
					places[f.Place.Function] = f.Place.Bytes
				}
				for _, n := range report.NewTree(p, report.TreeOptions{Measure: report.Bytes, Inverted: true, Full: true}).View().Children {
					tree[n.Function] = n.Value
				}
				return top, places, tree
			}
			top, places, tree := sums(merged)
			oneTop, onePlaces, oneTree := sums(a)
			for what, rows := range map[string][2]map[string]uint64{"top": {top, oneTop}, "summary": {places, onePlaces}, "tree": {tree, oneTree}} {
				for function := range rows[1] {
					rows[1][function] *= 2
				}
				if len(rows[1]) == 0 || !maps.Equal(rows[0], rows[1]) {
					t.Errorf("%s: merged %v, twice one of them %v", what, rows[0], rows[1])
				}
			}
		})
	}
}
