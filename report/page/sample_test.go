package page

import (
	"fmt"
	"time"

	"hdb/report"
)

// hostile is a name that means something to terminals, JSON, HTML and collapsed
// stacks, and is no UTF-8.
const hostile = "ev\x1b[31mil;</script>\n\"\\\xff (int, char)"

// sampleProfile has all that formats have to cope with: inlined functions, an
// address without a name, stacks of threads, without an end and without frames.
// Its source is a file at the path.
func sampleProfile(source string) *report.Profile {
	p := &report.Profile{
		Title: "prog --flag", Program: "/bin/prog", PID: 4711, Created: "devel", Start: time.Unix(1700000000, 0),
		Moment: report.Moment{Seq: 99, Time: 3 * time.Second, Live: 1500, Blocks: 6}, Events: 99, Caveats: report.Caveats{Lost: 2}, Failed: 1,
		Peak: report.Moment{Seq: 50, Time: time.Second, Live: 9000, Blocks: 9},
		Modules: []report.Module{
			{Path: "/lib/libc.so.6", BuildID: "93ac61", Low: 0x7f0000000000, High: 0x7f0000200000, Bias: 0x7f0000000000},
			{Path: "/bin/prog", BuildID: "f8a85d", Low: 0x555555554000, High: 0x555555559000, Bias: 0x555555554000},
		},
		Frames: []report.Frame{
			{Function: "grab(unsigned long)", Linkage: "_Z4grabm", File: source, Line: 2, Address: 0x5555555551a8, Module: 1, Inlined: true, Known: true, Library: true},
			{Function: "keep", File: source, Line: 5, Address: 0x5555555551a8, Module: 1, Known: true},
			{Function: "main", File: source, Line: 9, Address: 0x55555555507f, Module: 1, Known: true},
			{Function: "_start", Address: 0x5555555550d0, Module: 1},
			{Function: "0x7f0000001234", Unnamed: true, Address: 0x7f0000001233, Module: 0},
			{Function: hostile, File: "/tmp/" + hostile, Line: 1, Address: 0x1000, Module: -1, Known: true},
			{Function: "main", File: source, Line: 10, Address: 0x555555555090, Module: 1, Known: true},
		},
		Timeline: []report.Moment{{Seq: 10, Time: time.Second / 2, Live: 700}, {Seq: 50, Time: time.Second, Live: 9000, Blocks: 9}, {Seq: 99, Time: 3 * time.Second, Live: 1500, Blocks: 6}},
		Marks:    []report.Mark{{Seq: 40, Time: time.Second * 3 / 4, Name: "loaded " + hostile}},
		RSS:      []report.Sample{{Time: time.Second, RSS: 1 << 20}, {Time: 2 * time.Second, RSS: 2 << 20}},
	}
	p.Stacks = []report.Stack{
		{ID: 1, Frames: []int{0, 1, 2, 3}, Site: 1, Thread: "main", Numbers: report.Numbers{Allocs: 10, Bytes: 10000, Live: 1000, LiveBlocks: 1, Peak: 8000, PeakBlocks: 8, Temporary: 3}},
		{ID: 2, Frames: []int{0, 1, 6, 3}, Site: 1, Thread: "worker", Numbers: report.Numbers{Allocs: 5, Bytes: 500, Live: 300, LiveBlocks: 3, Peak: 500, PeakBlocks: 5}},
		{ID: 3, Frames: []int{4, 2, 3}, Numbers: report.Numbers{Allocs: 4, Bytes: 400, Live: 200, LiveBlocks: 2, Peak: 400, PeakBlocks: 4, Temporary: 1}},
		{ID: 4, Frames: []int{5}, Truncated: "no CFI; \x1b at 0x1000", Numbers: report.Numbers{Allocs: 1, Bytes: 100, Peak: 100, PeakBlocks: 1}},
		{Truncated: "no stack was recorded", Numbers: report.Numbers{Allocs: 1, Bytes: 7}},
	}
	return p
}

// hugeProfile has n stacks.
func hugeProfile(n int) *report.Profile {
	p := &report.Profile{Title: "huge"}
	for i := range 2000 {
		p.Frames = append(p.Frames, report.Frame{Function: fmt.Sprintf("function%d", i), File: "a.c", Line: i + 1, Address: uint64(0x1000 + i), Module: -1, Known: true})
	}
	for i := range n {
		s := report.Stack{Numbers: report.Numbers{Allocs: 2, Bytes: uint64(i) + 2, Live: 1, LiveBlocks: 1, Peak: uint64(i) + 1, PeakBlocks: 1}}
		for k := range 30 {
			s.Frames = append(s.Frames, (i*(k+1)+k)%2000)
		}
		p.Stacks = append(p.Stacks, s)
	}
	return p
}

// timed adds snapshots to a profile: half of all at the first, what is live at the
// last.
func timed(p *report.Profile) *report.Profile {
	half, end := report.Snapshot{Moment: report.Moment{Seq: 40, Time: time.Second}}, report.Snapshot{Moment: p.Moment}
	for i, s := range p.Stacks {
		at := s.Peak / 2
		if i%3 == 1 {
			at = 0
		}
		half.Stacks, end.Stacks = append(half.Stacks, at), append(end.Stacks, s.Live)
		half.Live += at
	}
	end.Live = p.Total().Live
	p.Snapshots = []report.Snapshot{half, end}
	return p
}

// deepProfile has stacks of many frames that part near their ends.
func deepProfile(stacks, deep int) *report.Profile {
	p := &report.Profile{Title: "deep", Frames: []report.Frame{{Function: "main", Module: -1, Known: true}}}
	for i := range 40 {
		p.Frames = append(p.Frames, report.Frame{Function: fmt.Sprintf("recurse%d", i), File: "r.c", Line: i, Module: -1, Known: true})
	}
	for i := range stacks {
		s := report.Stack{Numbers: report.Numbers{Allocs: 1, Bytes: 64, Live: 64, LiveBlocks: 1, Peak: 64, PeakBlocks: 1}}
		for k := range deep {
			s.Frames = append(s.Frames, 1+k%3)
			if k < 4 {
				s.Frames[k] = 1 + (i>>(k*4))%40
			}
		}
		s.Frames = append(s.Frames, 0)
		p.Stacks = append(p.Stacks, s)
	}
	return p
}
