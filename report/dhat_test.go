package report

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/capture"
	"hdb/testprogs/node"
)

// aBlock is a block as the oracle of lives keeps it.
type aBlock struct {
	stack capture.StackID
	size  uint64
	born  time.Duration
}

// randomRecording has events of three stacks and an exec in the middle, and the
// lives of their blocks, followed one by one.
func randomRecording(seed uint64) (*Recording, []life) {
	rng := rand.New(rand.NewPCG(seed, 1))
	heap := map[uint64]aBlock{}
	var addresses []uint64
	var events []Event
	want := make([]life, 4)
	now := time.Duration(0)
	sum := func(stack capture.StackID) (bytes, blocks uint64) {
		for _, b := range heap {
			if b.stack == stack {
				bytes += b.size
				blocks++
			}
		}
		return bytes, blocks
	}
	gone := func(addr uint64) capture.Ended {
		b := heap[addr]
		delete(heap, addr)
		addresses = slices.DeleteFunc(addresses, func(a uint64) bool { return a == addr })
		want[b.stack].lived += uint64((now - b.born) / time.Microsecond)
		return capture.Ended{Size: b.size, Stack: b.stack, Recorded: true}
	}
	const exec = 500
	for seq := uint64(1); seq <= 1000; seq++ {
		now += time.Duration(rng.IntN(50)) * time.Microsecond
		if seq == exec {
			for len(addresses) > 0 {
				gone(addresses[0])
			}
		}
		e := Event{Event: capture.Event{Seq: seq, Time: now, Stack: capture.StackID(rng.IntN(4)), Addr: seq << 8, Size: rng.Uint64N(5000)}}
		switch k := rng.IntN(10); {
		case k < 4 && len(addresses) > 0:
			e.Kind, e.Size = capture.Free, 0
			e.Addr = addresses[rng.IntN(len(addresses))]
			e.Ended = gone(e.Addr)
		case k < 5 && len(addresses) > 0:
			e.Kind = capture.Realloc
			e.Old = addresses[rng.IntN(len(addresses))]
			e.Ended = gone(e.Old)
		case k < 6:
			e.Failed, e.Addr = true, 0
		case k < 7:
			e.Kind = capture.Map
		}
		if e.Allocates() {
			heap[e.Addr] = aBlock{e.Stack, e.Size, now}
			addresses = append(addresses, e.Addr)
			if bytes, blocks := sum(e.Stack); bytes > want[e.Stack].maxBytes {
				want[e.Stack].maxBytes, want[e.Stack].maxBlocks = bytes, blocks
			}
		}
		events = append(events, e)
	}
	for id := range want {
		want[id].bytes, want[id].blocks = sum(capture.StackID(id))
		want[id].last = now
	}
	for _, b := range heap {
		want[b.stack].lived += uint64((now - b.born) / time.Microsecond)
	}
	return &Recording{Execs: []uint64{exec}, Stacks: 3, Events: slices.Values(events)}, want
}

func TestLives(t *testing.T) {
	for seed := range uint64(20) {
		r, want := randomRecording(seed)
		got := r.lives(map[capture.StackID]int{0: 0, 1: 1, 2: 2, 3: 3}, 4, want[0].last)
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: %+v, want %+v", seed, got, want)
		}
	}
}

// livedProfile is sampleProfile with the events that led to it.
func livedProfile() (*Profile, *Recording) {
	p := sampleProfile("/src/a.c")
	p.Stacks = p.Stacks[:2]
	var events []Event
	add := func(ms int, e capture.Event) {
		e.Seq, e.Time = uint64(len(events)+1), time.Duration(ms)*time.Millisecond
		events = append(events, Event{Event: e})
	}
	add(0, capture.Event{Stack: 1, Addr: 1, Size: 1000})
	add(10, capture.Event{Stack: 2, Addr: 2, Size: 500})
	add(20, capture.Event{Kind: capture.Free, Addr: 1, Ended: capture.Ended{Size: 1000, Stack: 1, Recorded: true}})
	add(30, capture.Event{Stack: 1, Addr: 1, Size: 100})
	p.Stacks[0].Numbers = Numbers{Allocs: 2, Bytes: 1100, Live: 100, LiveBlocks: 1, Peak: 1000, PeakBlocks: 1}
	p.Stacks[1].Numbers = Numbers{Allocs: 1, Bytes: 500, Live: 500, LiveBlocks: 1, Peak: 500, PeakBlocks: 1}
	p.Moment, p.Peak = Moment{Seq: 4, Time: 40 * time.Millisecond}, Moment{Seq: 2, Time: 10 * time.Millisecond}
	return p, &Recording{Stacks: 2, Events: slices.Values(events)}
}

// dhatFile writes a file of the test.
func dhatFile(t *testing.T, p *Profile, r *Recording) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "profile.dhat.json")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := WriteDHAT(f, p, Options{Recording: r}); err != nil {
		t.Fatal(err)
	}
	return path
}

// dhatViewer is that of Debian's valgrind.
const dhatViewer = "/usr/libexec/valgrind/dh_view.html"

// TestDHATViewer opens files in valgrind's viewer, which sums them up itself.
func TestDHATViewer(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(dhatViewer); err != nil {
		t.Fatalf("%v: run scripts/need test", err)
	}
	lived, events := livedProfile()
	twice := sampleProfile("/src/a.c")
	twice.Stacks = append(twice.Stacks, twice.Stacks...)
	twice.Stacks = append(twice.Stacks, Stack{Frames: []int{0, 1, 2}, Numbers: Numbers{Allocs: 1, Bytes: 1}})
	out := node.Browse(t, nil, "dhat.mjs", dhatViewer, dhatFile(t, lived, events), dhatFile(t, twice, nil), dhatFile(t, &Profile{}, nil), dhatFile(t, lived, &Recording{Events: slices.Values([]Event{})}))
	var shown []map[string]string
	if err := json.Unmarshal(out, &shown); err != nil {
		t.Fatal(err)
	}
	check := func(i int, metric string, wants ...string) {
		t.Helper()
		for _, want := range wants {
			if !strings.Contains(shown[i][metric], want) {
				t.Errorf("file %d by %s lacks %q:\n%s", i, metric, want, shown[i][metric])
			}
		}
	}
	check(0, "Total (bytes)", "t-gmax: 10,000 µs (25% of program duration)", "t-end:  40,000 µs", "PID:     4711",
		"Total:     1,600 bytes (100%, 40,000/s) in 3 blocks", "avg lifetime 20,000 µs (50% of program duration)", // 20 + 30 + 10 ms
		"At t-gmax: 1,500 bytes (100%) in 2 blocks", "At t-end:  600 bytes (100%) in 2 blocks",
		"Max:       1,000 bytes in 1 blocks", "#1: 0x5555555551A8: grab(unsigned long) (/src/a.c:2)")
	check(0, "At t-end (bytes)", "At t-end:  500 bytes (83.33%)")
	check(1, "Total (blocks)", "Total:     22,015 bytes", "in 43 blocks", "0x7F0000001233: ??? (in /lib/libc.so.6)")
	check(2, "Total (blocks)", "Total:     0 bytes")
	check(3, "Total (blocks)", "Total:     1,600 bytes")
	for _, i := range []int{1, 3} { // events that do not lead to the profile tell no lifetimes
		if text := shown[i]["Total (blocks)"]; strings.Contains(text, "lifetime") || strings.Contains(text, "At t-end: ") {
			t.Errorf("file %d tells what is not known:\n%s", i, text)
		}
	}
}
