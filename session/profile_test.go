package session

import (
	"testing"

	"hdb/report"
)

// Snapshots of a profile add up to the heap at their moments, and the last one is
// the profile.
func TestSnapshots(t *testing.T) {
	saved := recorded(t, "phases")
	for _, moment := range []string{"start", "30%", "peak", "end"} {
		must(t)(saved.Goto(moment))
		p := get[*report.Profile](t)(saved.Profile(ProfileParts{Line: true, Snapshots: true}))
		if n := len(p.Snapshots); n == 0 || n > profileSnapshots {
			t.Fatalf("%s: %d snapshots", moment, n)
		}
		x, err := saved.Index()
		if err != nil {
			t.Fatal(err)
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
