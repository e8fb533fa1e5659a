package recording

import (
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
				r := New(nil)
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
	var batch [32]capture.Event
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
