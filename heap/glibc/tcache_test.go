package glibc

import (
	"maps"
	"slices"
	"testing"

	"hdb/heap/resident"
	"hdb/internal/addr"
)

// TestEndingThread has a picture in which a thread gives up its tcache: no variable leads there any more, and the first lists are
// empty, though not by their counts. What is in the others is no block.
func TestEndingThread(t *testing.T) {
	type program struct{ ledger, churn string }
	programs := map[string]program{"here": {compiled(t, "ledger.c", "-shared", "-fPIC"), compiled(t, "churn.cc")}}
	for version, dir := range older(t) {
		programs[version] = program{linkedWith(t, dir, "ledger.c", "-shared", "-fPIC"), linkedWith(t, dir, "churn.cc")}
	}
	for version, p := range programs {
		t.Run(version, func(t *testing.T) {
			f := follow(t, p.ledger, 0, p.churn, "5")
			f.makes(warm)
			ledger := f.stopped(true, true)
			whole := photograph(f, ledger)
			h, err := Open(t.Context(), whole.Source)
			if err != nil {
				t.Fatal(err)
			}
			c := slices.MaxFunc(h.TCaches(), func(a, b ThreadCache) int { return len(a.Bins) - len(b.Bins) })
			fs := whole.Threads[slices.IndexFunc(whole.Threads, func(x resident.Thread) bool { return x.TID == c.TID })].FS
			variable := fs - 8
			for h.mem.Pointer(variable) != c.Addr {
				variable -= 8
			}
			whole.put(variable, 0)
			freed := map[addr.Run]uint64{} // chunks of the first list, which are in no other one then
			first := c.Addr + addr.Run(h.mem.layout.entries+8*c.Bins[0].Index)
			for at := h.mem.Pointer(first); at != 0; at = h.links.next(h.mem.Word(at), at) {
				found, _ := h.Find(at)
				freed[at] = found.Size
			}
			whole.put(first, 0)
			for _, tid := range []int{c.TID, 0} {
				want := f.blocks(ledger)
				maps.Copy(want, freed)
				if h, err = Open(t.Context(), whole.Source); err != nil {
					t.Fatal(err)
				}
				f.same(h, want)
				if !slices.ContainsFunc(h.TCaches(), func(x ThreadCache) bool { return x.TID == tid && x.Addr == c.Addr && (len(x.Bins) > 0) == (tid != 0) }) {
					t.Errorf("tcache of thread %d: not found", tid)
				}
				whole.Threads = append(whole.Threads, resident.Thread{TID: 1 << 30, FS: fs}) // whose tcache it is, is not known then
			}
		})
	}
}
