package recording

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"hdb/breakpoints"
	"hdb/capture"
	"hdb/capture/file"
)

// madeUp is what a program does that keeps n blocks, and gives back any of them.
func madeUp(n int) []capture.Event {
	rng := rand.New(rand.NewPCG(1, 2))
	blocks := make([]uint64, n)
	for i := range blocks {
		blocks[i] = 0x555555780010 + uint64(i)*48
	}
	var events []capture.Event
	for _, i := range rng.Perm(n) {
		events = append(events, capture.Event{Addr: blocks[i], Size: 40, Stack: capture.StackID(1 + i%100)})
	}
	for range 4 * n {
		b := blocks[rng.IntN(n)]
		events = append(events, capture.Event{Kind: capture.Free, Addr: b},
			capture.Event{Addr: b, Size: 40, Stack: capture.StackID(1 + rng.IntN(100))})
	}
	return events
}

// cputime is the processor time that the process has used.
func cputime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkEvents takes events as the probe hands them over, up to the file's
// compressed chunks. HDB_CAPTURES names a directory of captures to take them
// from, in place of a program that is made up.
func BenchmarkEvents(b *testing.B) {
	programs := map[string]func() []capture.Event{
		"1k":   func() []capture.Event { return madeUp(1e3) },
		"100k": func() []capture.Event { return madeUp(1e5) },
	}
	paths, _ := filepath.Glob(filepath.Join(os.Getenv("HDB_CAPTURES"), "*.hdb"))
	for _, path := range paths {
		programs[strings.TrimSuffix(filepath.Base(path), ".hdb")] = func() []capture.Event {
			f, err := file.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			defer f.Close()
			return slices.Collect(f.Events(0))
		}
	}
	for name, events := range programs {
		b.Run(name, func(b *testing.B) {
			events := events()
			stacks := capture.StackID(0)
			for i := range events {
				stacks = max(stacks, events[i].Stack)
			}
			fn := &breakpoints.Function{Name: "malloc"}
			b.ReportAllocs()
			start := cputime()
			for b.Loop() {
				writer, err := file.NewWriter(io.Discard, capture.Info{})
				if err != nil {
					b.Fatal(err)
				}
				r := New(&fakeProcess{})
				r.Start()
				r.run.out = writer
				for range stacks {
					r.Stack(capture.Stack{})
				}
				handOver(r, events, fn)
				if err := writer.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((cputime()-start).Nanoseconds())/float64(b.N*len(events)), "cpu-ns/event")
		})
	}
}

// handOver hands events over as the probe does.
func handOver(to *Recording, events []capture.Event, fn *breakpoints.Function) {
	var batch [128]capture.Event
	functions := []*breakpoints.Function{fn}
	for len(events) > 0 {
		n := min(len(batch), len(events))
		for i := range n {
			e, from := &batch[i], &events[i]
			e.Time, e.TID, e.Kind = from.Time, from.TID, from.Kind
			e.Addr, e.Size, e.Old, e.Aux = from.Addr, from.Size, from.Old, from.Aux
			e.Stack, e.Func, e.Failed, e.Abandoned = from.Stack, 0, from.Failed, from.Abandoned
		}
		to.Batch(batch[:n], functions)
		events = events[n:]
	}
}

// A goStep is a block of Go that is made, or found dead.
type goStep struct {
	addr uint64
	kind int // of the block that is made, -1 if it is dead
}

// goSteps are what a program of Go does between two collections, over and over: spans of 128
// slots are swept, which tells of all blocks that died there, but for each 16th, and filled again
// with blocks of several kinds.
func goSteps(kinds int) []goStep {
	const slots, spans, size = 128, 512, 64
	rng := rand.New(rand.NewPCG(1, 2))
	var steps []goStep
	for span := range uint64(spans) {
		var free []uint64
		for i := range uint64(slots) {
			if rng.IntN(16) != 0 {
				free = append(free, 0xc000400000+(span*slots+i)*size)
			}
		}
		for _, a := range free {
			steps = append(steps, goStep{a, -1})
		}
		for i, a := range free {
			steps = append(steps, goStep{a, i % kinds})
		}
	}
	return steps
}

// BenchmarkGo takes events of a Go runtime as the probe hands them over, up to the file's
// compressed chunks.
func BenchmarkGo(b *testing.B) {
	for _, kinds := range []int{1, 9} {
		b.Run(fmt.Sprintf("kinds=%d", kinds), func(b *testing.B) {
			steps := goSteps(kinds)
			const rounds = 32
			functions := []*breakpoints.Function{{Name: "runtime.mallocgc"}, {Name: "runtime.sweep"}}
			var aux [16]uint64
			for k := range aux {
				aux[k] = uint64(capture.NewGoAux(1, 0x500000+64*uint64(k), 0x400000))
			}
			b.ReportAllocs()
			var spent time.Duration
			for b.Loop() {
				writer, err := file.NewWriter(io.Discard, capture.Info{})
				if err != nil {
					b.Fatal(err)
				}
				r := New(&fakeProcess{})
				r.Start()
				r.run.out = writer
				for range kinds {
					r.Stack(capture.Stack{})
				}
				start := cputime()
				var batch [128]capture.Event
				now, n := time.Duration(0), 0
				for range rounds {
					for _, s := range steps {
						e := &batch[n]
						e.Time, e.TID, e.Addr = now, 7, s.addr
						e.Old, e.Failed, e.Abandoned = 0, false, false
						if s.kind < 0 {
							e.Kind, e.Func, e.Size, e.Stack, e.Aux = capture.Free, 1, 0, 0, 0
						} else {
							now += 100
							e.Kind, e.Func, e.Size, e.Stack, e.Aux = capture.Alloc, 0, 56+4*uint64(s.kind&1), capture.StackID(1+s.kind), aux[s.kind]
						}
						if n++; n == len(batch) {
							r.Batch(batch[:n], functions)
							n = 0
						}
					}
				}
				if err := writer.Close(); err != nil {
					b.Fatal(err)
				}
				spent += cputime() - start
			}
			b.ReportMetric(float64(spent.Nanoseconds())/float64(b.N*rounds*len(steps)), "cpu-ns/event")
		})
	}
}
