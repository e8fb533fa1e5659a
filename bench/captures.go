package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"hdb/capture"
	"hdb/capture/file"
	"hdb/internal/addr"
)

// capturesVersion changes with what largeCapture makes.
const capturesVersion = "5"

// captureEvents is the length of the capture that is asked.
const captureEvents = 50_000_000

// Large captures: how long a question to one takes, and to the recording of a real
// program beside heaptrack_print on its own recording of the same run.

func (b *bench) captureRows() error {
	return b.group("captures", []part{
		{"writing, ns of CPU an event", b.writingRow},
		{"50 million events", b.questionRows},
		{"reports of xmllint's run", b.reportRows},
	})
}

// writeEvents writes a capture of n events: a heap of some 4 MiB that keeps changing,
// from a thousand stacks and four threads. As in most programs stacks follow one
// another in a habitual order, broken now and then, and three calls of four are about
// blocks that were allocated or freed a moment ago; the others are anywhere.
func writeEvents(path string, n int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := file.NewWriter(f, capture.Info{Program: "/bin/made", Args: []string{"up"}, PID: 1, Arch: "x86_64"})
	if err != nil {
		return err
	}
	made := newHeap(w)
	for range n {
		made.step()
	}
	return w.Close()
}

// madeHeap is a heap that a generator of events keeps.
type madeHeap struct {
	w      recorder
	stacks []capture.StackID
	slots  []madeBlock // by place
	random uint64
	recent uint64 // the middle of the places where most happens
	stack  uint64
	event  capture.Event
}

// A recorder takes the events that a heap makes up.
type recorder interface {
	AddEvent(*capture.Event) uint64
}

// counter takes them to nowhere.
type counter uint64

func (c *counter) AddEvent(*capture.Event) uint64 { *c++; return uint64(*c) }

func newHeap(w *file.Writer) *madeHeap {
	h := &madeHeap{w: w, slots: make([]madeBlock, 1<<16), random: 1}
	w.FuncIndex("malloc")
	w.FuncIndex("free")
	w.AddModule(capture.Module{Path: "/bin/made", From: 1, Low: 0x400000, High: 0x800000})
	for i := range 1000 {
		st := capture.Stack{PCs: make([]addr.Run, 12)}
		for j := range st.PCs {
			st.PCs[j] = addr.Run(0x400000 + 64*(i>>min(j, 9)) + 4096*j)
		}
		h.stacks = append(h.stacks, w.Intern(st))
	}
	for i := range 4 {
		w.AddThread(capture.Thread{TID: int32(100 + i), Num: i + 1, Name: "worker"})
	}
	return h
}

// madeBlock is a block that is allocated, or none.
type madeBlock struct {
	seq   uint64
	size  uint32
	stack capture.StackID
}

// step adds an event: of a place of the heap that is chosen at random what can
// happen to it.
func (h *madeHeap) step() {
	h.random ^= h.random << 13
	h.random ^= h.random >> 7
	h.random ^= h.random << 17
	at := h.random % uint64(len(h.slots))
	if h.random>>32&3 == 0 {
		h.recent = at
	} else {
		at = (h.recent + h.random>>40&15) % uint64(len(h.slots))
	}
	if h.stack++; h.random>>50&15 == 0 {
		h.stack = h.random >> 20
	}
	old, e := &h.slots[at], &h.event
	*e = capture.Event{Time: h.event.Time + 300*time.Nanosecond, TID: int32(100 + h.stack>>6&3), Stack: h.stacks[h.stack%1000]}
	e.Addr = 0x10000000 + at*256
	if old.size != 0 {
		e.Kind, e.Func, e.Size = capture.Free, 1, uint64(old.size)
		e.Ended = capture.Ended{Size: e.Size, Stack: old.stack, Recorded: true, Seq: old.seq}
		old.size = 0
	} else {
		e.Size = 16 + h.stack%1000*13%224
		*old = madeBlock{size: uint32(e.Size), stack: e.Stack}
	}
	seq := h.w.AddEvent(e)
	if old.size != 0 {
		old.seq = seq
	}
}

// largeCapture is a capture of captureEvents events, which is made once.
func (b *bench) largeCapture() (string, error) {
	path := filepath.Join(b.cache, "capture-"+capturesVersion+".hdb")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := writeEvents(path+".new", captureEvents); err != nil {
		return "", err
	}
	return path, os.Rename(path+".new", path)
}

// writingRow is what writing costs, without making the events up.
func (b *bench) writingRow(what string) error {
	const n = 5_000_000
	var costs, making series
	for range b.rounds {
		whole, err := cpuOf(func() error { return writeEvents(filepath.Join(b.out, "written.hdb"), n) })
		if err != nil {
			return err
		}
		made, err := cpuOf(func() error { return makeEvents(n) })
		if err != nil {
			return err
		}
		costs, making = append(costs, (whole-made)/n), append(making, made/n)
	}
	v := quantity{"", "ns", costs}
	note := fmt.Sprintf("5 million events a second on one processor are 200 ns each; making one up, %.0f ns, is taken off", making.median())
	b.rows = append(b.rows, row{Group: "captures", What: what, HDB: v, Figure: v, Goal: &goal{Limit: 200}, Note: note})
	return nil
}

// makeEvents makes n events up that are not written.
func makeEvents(n int) error {
	w, err := file.NewWriter(io.Discard, capture.Info{})
	if err != nil {
		return err
	}
	made := newHeap(w)
	made.w = new(counter)
	for range n {
		made.step()
	}
	return nil
}

// cpuOf is the CPU time of this process that f takes, in nanoseconds.
func cpuOf(f func() error) (float64, error) {
	before, err := selfCPU()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := selfCPU()
	return float64(after - before), err
}

// questionRows ask a large capture, opened anew each time.
func (b *bench) questionRows(what string) error {
	file, err := b.largeCapture()
	if err != nil {
		return err
	}
	ask := func(name string, commands ...string) variant {
		argv := []string{b.hdb.path, "-nx", "-batch"}
		for _, c := range commands {
			argv = append(argv, "-ex", c)
		}
		return b.symbolizer(name, os.DevNull, append(argv, "open", file)...)
	}
	variants := []variant{
		ask("prompt", "show listsize"), ask("top", "top"), ask("goto", "goto 63%", "bt"), ask("top there", "goto peak", "top by peak"),
		ask("live", "live"), ask("live there", "goto 63%", "live 5 if size > 200"), ask("top per thread", "goto 63%", "top per thread"), ask("top per size", "goto 63%", "top by peak per size"),
		ask("whence", "goto 63%", "whence 0x10000010"), ask("whence, no block", "goto 63%", "whence 0x20000000"), ask("history", "goto 63%", "history 0x10000010"),
		ask("history, no block", "history 0x20000000"),
	}
	res := interleave(b.rounds, variants)
	b.failed("captures", res)
	for _, q := range []struct {
		name  string
		limit float64
	}{
		{"prompt", 100}, {"top", 1000}, {"goto", 1000}, {"top there", 1000}, {"live", 1000}, {"live there", 1000}, {"top per thread", 1000}, {"top per size", 1000},
		{"whence", 1000}, {"whence, no block", 1000}, {"history", 1000}, {"history, no block", 1000},
	} {
		v := quantity{"", "ms", res.series(q.name, milliWall)}
		memory := quantity{"", "MB", res.series(q.name, written)}
		b.rows = append(b.rows,
			row{Group: "captures", What: what + ": " + q.name, HDB: v, Figure: v, Goal: &goal{Limit: q.limit}, Note: res.why(q.name)},
			row{Group: "captures", What: what + ": " + q.name + ", memory", HDB: memory, Figure: memory, Goal: &goal{Limit: 1074}})
	}
	return nil
}

// reportRows compare reports with heaptrack_print's, each of its own recording.
func (b *bench) reportRows(what string) error {
	all, err := b.realPrograms()
	if err != nil {
		return err
	}
	p := all[2]
	theirs, ours := filepath.Join(b.out, "theirs"), filepath.Join(b.out, "ours.hdb")
	for _, argv := range [][]string{{"heaptrack", "-o", theirs}, {b.hdb.path, "record", "-o", ours}} {
		cmd := exec.Command(argv[0], append(argv[1:], p.argv...)...)
		cmd.Dir, cmd.Env = p.dir, append(os.Environ(), p.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", argv[0], err, tail(string(out)))
		}
	}
	made, err := one(theirs + "*")
	if err != nil {
		return err
	}
	res := interleave(b.rounds, []variant{
		b.symbolizer("heaptrack_print", os.DevNull, "heaptrack_print", made),
		b.symbolizer("stats", os.DevNull, b.hdb.path, "stats", ours),
		b.symbolizer("flamegraph", os.DevNull, b.hdb.path, "flamegraph", "-o", os.DevNull, ours),
	})
	b.failed("captures", res)
	peer := res.series("heaptrack_print", milliWall)
	for _, name := range []string{"stats", "flamegraph"} {
		mine := res.series(name, milliWall)
		b.rows = append(b.rows, row{
			Group: "captures", What: what + ": " + name, Peer: quantity{"heaptrack_print", "ms", peer}, HDB: quantity{"", "ms", mine},
			Figure: quantity{"", "", over(mine, peer)}, Goal: &goal{Limit: 0.1}, Note: res.why(name),
		})
	}
	return nil
}
