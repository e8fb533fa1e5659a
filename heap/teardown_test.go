package heap

import (
	"testing"

	"hdb/capture"
	"hdb/capture/file"
)

// TestTeardown finds where a program begins to free its memory at its end, less what lives shortly, and nothing where it works to its end.
func TestTeardown(t *testing.T) {
	const work, size = 1000, 100
	type step struct{ allocs, frees int }
	for name, tc := range map[string]struct {
		steps []step
		want  uint64
	}{
		"frees all":                    {[]step{{work, 0}, {0, work}}, 950},
		"frees most, allocates little": {[]step{{work, 0}, {0, 300}, {20, 0}, {0, 600}}, 950},
		"frees nothing":                {[]step{{work, 0}}, 0},
		"frees a tenth":                {[]step{{work, 0}, {0, 100}}, 0},
		"works in turns":               {[]step{{work, 0}, {0, 900}, {900, 0}, {0, 900}, {900, 0}}, 0},
		"works in turns, then frees":   {[]step{{work, 0}, {0, 500}, {500, 0}, {0, 900}}, 1900},
		"nothing":                      {nil, 0},
	} {
		log := file.NewLog(capture.Info{})
		stack := log.Intern(capture.Stack{})
		malloc := log.FuncIndex("malloc")
		var live []capture.Event
		seq := uint64(0)
		add := func(e capture.Event) {
			log.AddEvent(&e)
			seq++
			if e.Seq = seq; e.Kind == capture.Alloc {
				live = append(live, e)
			}
		}
		for _, s := range tc.steps {
			for range s.allocs {
				add(capture.Event{Kind: capture.Alloc, Func: malloc, Addr: (seq + 1) << 12, Size: size, Stack: stack, TID: 1})
			}
			for range s.frees {
				b := live[0]
				live = live[1:]
				add(capture.Event{Kind: capture.Free, Addr: b.Addr, Size: size, TID: 1, Ended: capture.Ended{Recorded: true, Seq: b.Seq, Size: size, Stack: stack}})
			}
		}
		x, err := NewIndex(log)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Teardown(); got != tc.want {
			t.Errorf("%s: after event #%d, want #%d", name, got, tc.want)
		}
	}
}
