package report

import (
	"errors"
	"math"
	"time"

	"hdb/capture"
)

// testStart is when testRecording began.
var testStart = time.Date(2026, 11, 21, 23, 59, 59, 250_000_000, time.UTC)

// testRecording is a small recording with all kinds of events and hostile names:
//
//	#1 #2 #3  malloc of 100, 200, 300 bytes, by stacks 1, 2, 2
//	#4        free of #2
//	#5        realloc of #1 to 1000, by stack 1
//	#6        mmap, which is no block
//	#7        malloc that failed
//	#8        a mark
//	#9        after an exec: malloc of 50, by stack 3, which has no frames
func testRecording() *Recording {
	us := time.Microsecond
	events := []Event{
		{Event: capture.Event{Seq: 1, Time: 10 * us, Addr: 0x1000, Size: 100, Stack: 1, TID: 7}},
		{Event: capture.Event{Seq: 2, Time: 20 * us, Addr: 0x2000, Size: 200, Stack: 2, TID: 7}},
		{Event: capture.Event{Seq: 3, Time: 30 * us, Addr: 0x7fff_ffff_f000, Size: 300, Stack: 2, TID: 8}},
		{Event: capture.Event{Seq: 4, Time: 40 * us, Kind: capture.Free, Addr: 0x2000, Func: 1, Stack: 1, TID: 8, Ended: capture.Ended{Size: 200, Stack: 2, Recorded: true}}, EndedSeq: 2},
		{Event: capture.Event{Seq: 5, Time: 50 * us, Kind: capture.Realloc, Addr: 0x3000, Old: 0x1000, Size: 1000, Func: 2, Stack: 1, TID: 7, Ended: capture.Ended{Size: 100, Stack: 1, Recorded: true}}, EndedSeq: 1},
		{Event: capture.Event{Seq: 6, Time: 60 * us, Kind: capture.Map, Addr: 0x10000, Size: 4096, Func: 3, TID: 7}},
		{Event: capture.Event{Seq: 7, Time: 70 * us, Size: math.MaxUint64, Failed: true, Stack: 2, TID: 7}},
		{Event: capture.Event{Seq: 8, Time: 80 * us, Kind: capture.Mark, TID: 7, Func: 99}},
		{Event: capture.Event{Seq: 9, Time: 90 * us, Addr: 0x1000, Size: 50, Aux: 16, Stack: 3, TID: 7}},
	}
	frames := []Frame{
		{Function: "malloc", Address: 0x5000, Module: 1, Library: true},
		{Function: "parse<std::vector<int> >(char const*)", Linkage: "_Z5parse", File: "/src/a \"b\"\n.cc", Line: 12, Address: 0x4000, Module: 0, Inlined: true, Known: true},
		{Function: "main", File: "/src/main.c", Line: 3, Address: 0x4010, Module: 0, Known: true},
		{Function: "0xffffffffffffffff", Unnamed: true, Address: math.MaxUint64, Module: -1, Guess: true},
	}
	stacks := []Stack{
		{Frames: []int{0, 2}},
		{Frames: []int{0, 1, 2, 3}, Truncated: "bad\xff\x00CFI"},
		{Truncated: "lost"},
	}
	return &Recording{
		Info: capture.Info{
			Program: "/bin/\xffdemo", Args: []string{"--file", "a'b\x1b[31m"}, PID: 4711, Start: testStart,
			Host: "../a b/ü=%", Kernel: "6.1", Arch: "x86_64", Created: "test", Totals: capture.Totals{Lost: 2},
		},
		Functions: []string{"malloc", "free", "realloc", "mmap"},
		Modules:   []capture.Module{{Path: "/bin/\xffdemo", BuildID: "abcd", Low: 0x4000, High: 0x5000, From: 1}, {Path: "/lib/libc.so.6", Low: 0x5000, High: 0x6000, From: 1, To: 9}},
		Threads:   []capture.Thread{{TID: 7, Num: 1, Name: "main"}, {TID: 8, Num: 2, Name: "w\x00\xff"}},
		Execs:     []uint64{9},
		Marks:     []Mark{{Seq: 8, Time: 80 * us, Name: "ready"}},
		RSS:       []Sample{{Time: 85 * us, RSS: 1 << 20}},
		To:        math.MaxUint64,
		Stacks:    len(stacks),
		Stack:     func(id capture.StackID) Stack { return stacks[id-1] },
		Frame:     func(i int) Frame { return frames[i] },
		Events: func(yield func(Event) bool) {
			for _, e := range events {
				if !yield(e) {
					return
				}
			}
		},
		Damage: func() error { return errors.New("a chunk is missing") },
	}
}

// emptyRecording is one without events.
func emptyRecording() *Recording {
	return &Recording{
		Info:   capture.Info{Program: "/bin/true", PID: 1, Start: testStart},
		Events: func(func(Event) bool) {}, Damage: func() error { return nil },
	}
}
