package query

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/heap"
	"hdb/internal/addr"
)

// growingSample is 16 seconds in which one stack allocates 10 bytes each second, a second one 1000 bytes at 1 s, and
// a third one 50 bytes in each odd second, given back in the next.
func growingSample(t *testing.T) *Recording {
	t.Helper()
	r := sample(t)
	log := file.NewLog(capture.Info{Program: "/prog"})
	malloc, free := log.FuncIndex("malloc"), log.FuncIndex("free")
	var stacks []capture.StackID
	for _, pc := range []addr.Run{0x100, 0x200, 0x300} {
		stacks = append(stacks, log.Intern(capture.Stack{PCs: []addr.Run{pc}}))
	}
	log.AddThread(capture.Thread{TID: 7, Num: 1, Name: "main"})
	add := func(second int, e capture.Event) {
		e.TID, e.Time = 7, time.Duration(second)*time.Second
		log.AddEvent(&e)
	}
	add(1, capture.Event{Kind: capture.Alloc, Func: malloc, Addr: 0x9000, Size: 1000, Stack: stacks[1]})
	for s := 1; s <= 16; s++ {
		add(s, capture.Event{Kind: capture.Alloc, Func: malloc, Addr: 0x1000 * uint64(s+16), Size: 10, Stack: stacks[0]})
		if s%2 == 1 {
			add(s, capture.Event{Kind: capture.Alloc, Func: malloc, Addr: 0x8000, Size: 50, Stack: stacks[2]})
		} else {
			add(s, capture.Event{Kind: capture.Free, Func: free, Addr: 0x8000, Size: 50, Stack: stacks[2], Ended: capture.Ended{Size: 50, Stack: stacks[2], Recorded: true}})
		}
	}
	x, err := heap.NewIndex(log)
	if err != nil {
		t.Fatal(err)
	}
	r.Source, r.Index, r.Moment = log, x, heap.End
	return r
}

// TestGrowing compares what is live at moments that are named, or cut from the time.
func TestGrowing(t *testing.T) {
	r := growingSample(t)
	log := r.Source.(*file.Log)
	grown := func(moments ...Moment) string {
		t.Helper()
		g, err := r.Growing(moments, Present, true, nil)
		if err != nil {
			return err.Error()
		}
		var all []string
		for _, at := range g.Instants {
			all = append(all, at.String())
		}
		text := strings.Join(all, " ") + ":"
		for i := range g.Rows {
			row := g.Named(&g.Rows[i])
			text += fmt.Sprintf(" stack %d%v of %d", g.Rows[i].Stack, g.Rows[i].Live, row.Count)
		}
		return text
	}
	half, err := r.GrowthMoments(0, Present)
	if err != nil {
		t.Fatal(err)
	}
	over, err := r.GrowthMoments(12*time.Second, Present)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range []struct {
		moments []Moment
		want    string
	}{
		{[]Moment{ParseMoment("4s")}, "4s 7s 10s 13s now: stack 1[{40 4} {70 7} {100 10} {130 13} {160 16}] of 16"},
		{[]Moment{ParseMoment("9s"), ParseMoment("4s")}, "4s 9s now: stack 1[{40 4} {90 9} {160 16}] of 16"},
		{[]Moment{ParseMoment("start"), ParseMoment("#2")}, "start #2 now: stack 1[{0 0} {10 1} {160 16}] of 16"},
		{half, "8.5s 10.38s 12.25s 14.13s now: stack 1[{80 8} {100 10} {120 12} {140 14} {160 16}] of 16"},
		{over, "4s 7s 10s 13s now: stack 1[{40 4} {70 7} {100 10} {130 13} {160 16}] of 16"},
		{[]Moment{ParseMoment("15500ms")}, "15500ms now: stack 1[{150 15} {160 16}] of 16"}, // nothing happens until 16 s
		{[]Moment{ParseMoment("end")}, "end: no event follows it: name an earlier moment"},
		{[]Moment{ParseMoment("start"), ParseMoment("8s"), ParseMoment("end")}, "start 8s now: stack 1[{0 0} {80 8} {160 16}] of 16"},
		{[]Moment{ParseMoment("16s"), Present, ParseMoment("8s")}, "8s now: stack 1[{80 8} {160 16}] of 16"},
		{[]Moment{ParseMoment("nothing")}, `"nothing": not a moment: #N, N%, a time like 1.5s, peak, start, end, stop N or the name of a mark expected`},
	} {
		if got := grown(one.moments...); got != one.want {
			t.Errorf("%v:\n got %s\nwant %s", one.moments, got, one.want)
		}
	}
	if _, err := r.GrowthMoments(time.Minute, Present); err == nil || err.Error() != "over 1m0s: the recording covers only 16s" {
		t.Errorf("over a minute: %v", err)
	}
	for i := range growthMarks + 3 {
		log.AddMark(capture.MarkRecord{Seq: uint64(i + 1), Time: time.Duration(i) * time.Second, Name: fmt.Sprint("m", i)})
	}
	marks, err := r.GrowthMoments(0, Present)
	if err != nil || len(marks) != growthMarks || marks[0].String() != "m3" {
		t.Errorf("marks %v, %v", marks, err)
	}
}

// TestGrowthMomentsIdle has the moment that is looked at if none is told lie between events, though the program idled before
// its first and after its last one, and now may be earlier than the last.
func TestGrowthMomentsIdle(t *testing.T) {
	log := file.NewLog(capture.Info{Program: "/prog"})
	malloc, stack := log.FuncIndex("malloc"), log.Intern(capture.Stack{PCs: []addr.Run{0x100}})
	log.AddThread(capture.Thread{TID: 7, Num: 1, Name: "main"})
	for i := range 5 {
		log.AddEvent(&capture.Event{Kind: capture.Alloc, Func: malloc, Addr: 0x1000 * uint64(i+1), Size: 10, Stack: stack, TID: 7, Time: 100*time.Second + time.Duration(i)*time.Millisecond})
	}
	log.AddSample(capture.SampleRecord{Seq: 5, Time: 300 * time.Second})
	x, err := heap.NewIndex(log)
	if err != nil {
		t.Fatal(err)
	}
	r := sample(t)
	r.Source, r.Index = log, x
	for now, want := range map[uint64]string{heap.End: "1m40.002s now", 3: "1m40.001s now"} {
		r.Moment = now
		moments, err := r.GrowthMoments(0, Present)
		if err != nil {
			t.Fatal(err)
		}
		g, err := r.Growing(moments, Present, true, nil)
		if err != nil {
			t.Errorf("at #%d: %v", now, err)
			continue
		}
		var got []string
		for _, at := range g.Instants {
			got = append(got, at.String())
		}
		if strings.Join(got, " ") != want || len(g.Rows) != 1 {
			t.Errorf("at #%d: %v and %d rows, want %s and 1", now, got, len(g.Rows), want)
		}
	}
	r.Moment = 3
	if _, err := r.Growing([]Moment{ParseMoment("end")}, Present, true, nil); err == nil || err.Error() != "end: it is later than now, after event #3" {
		t.Errorf("the end, at #3: %v", err)
	}
}
