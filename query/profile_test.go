package query

import (
	"slices"
	"testing"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/capture/file"
	"hdb/heap"
	"hdb/internal/addr"
	"hdb/report"
)

// TestCollectedBlocks has a limit kept by what C has leaked, of a program of C and Go whose
// functions both call their allocator directly, as Go does from 1.27 on.
func TestCollectedBlocks(t *testing.T) {
	log := file.NewLog(capture.Info{Program: "/prog"})
	malloc, mallocgc := log.FuncIndex("malloc"), log.FuncIndex("runtime.mallocgc")
	ofC, ofGo := log.Intern(capture.Stack{PCs: []addr.Run{0x100, 0x300}}), log.Intern(capture.Stack{PCs: []addr.Run{0x200, 0x300}})
	log.AddThread(capture.Thread{TID: 7, Num: 1, Name: "main"})
	for i := range uint64(10) {
		log.AddEvent(&capture.Event{Kind: capture.Alloc, Func: mallocgc, Addr: 0xc000000000 + 64*i, Size: 64, Stack: ofGo, TID: 7})
		if i < 3 {
			log.AddEvent(&capture.Event{Kind: capture.Alloc, Func: malloc, Addr: 0x1000 + 64*i, Size: 10, Stack: ofC, TID: 7})
		}
	}
	x, err := heap.NewIndex(log)
	if err != nil {
		t.Fatal(err)
	}
	r := &Recording{Source: log, Index: x, Names: fakeNames{}, Attribution: defaults(), Likenesses: &Likenesses{}, Moment: heap.End, Function: breakpoints.Named}
	for _, tell := range []bool{true, false} {
		p, err := r.Profile(ProfileParts{Collected: tell})
		if err != nil {
			t.Fatal(err)
		}
		if i := slices.IndexFunc(p.Stacks, func(st report.Stack) bool { return st.Collected }); (i >= 0) != tell || tell && p.Stacks[i].ID != ofGo {
			t.Errorf("asked %v: stack %d is collected of %+v", tell, i, p.Stacks)
		}
		if v := report.Check(p, &report.Limits{NoLeaks: true})[0]; tell && (v.Held || v.Text != "30 bytes in 3 blocks live at the end; not counted: 640 bytes in 10 blocks of Go, live until a garbage collection has found them dead; --max-live-growth SIZE --since MOMENT checks whether they grow") {
			t.Errorf("%+v", v)
		}
	}
}
