package session

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hdb/capture"
	"hdb/heap/regions"
	"hdb/inferior/machine"
	"hdb/internal/addr"
	"hdb/session/target"
	"hdb/testprogs"
)

// classified runs regions.c up to where it has said what its memory is, in a file.
func classified(t *testing.T, s *Session) (said string) {
	t.Helper()
	said = filepath.Join(t.TempDir(), "said")
	s.Settings.Args = said + " and dies"
	must(t)(s.Run(nil))              // to the signal that a thread sends itself
	must(t)(s.Execution.Continue(1)) // to the one that ends the program
	return said
}

// checkSpace holds what the program has said of its addresses against the regions.
func checkSpace(t *testing.T, s *Session, said string) *regions.Space {
	t.Helper()
	image, err := s.Heap.Image()
	if err != nil {
		t.Fatal(err)
	}
	space := image.Space()
	for _, n := range space.Notes {
		t.Errorf("note: %s", n)
	}
	f, err := os.Open(said)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var at uint64
		var kind string
		if _, err := fmt.Sscanf(lines.Text(), "0x%x %s", &at, &kind); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
		r := space.At(addr.Run(at))
		if r == nil {
			t.Errorf("%s: not mapped", lines.Text())
		} else if r.Kind.String() != kind {
			t.Errorf("%s: is %v of thread %d, %q (%v-%v %s)", lines.Text(), r.Kind, r.TID, r.Label, r.Start, r.End, r.Path)
		}
	}
	if n < 50 {
		t.Errorf("the program has told of %d addresses", n)
	}
	return space
}

// TestSpace has each byte that a program tells of be what it says, and the regions have as much
// memory in all as the kernel has counted: as it runs alone, recorded by code of hdb's inside it,
// and in a core file.
func TestSpace(t *testing.T) { testprogs.OnMachines(t, machine.PagemapScan, spaces) }

func spaces(t *testing.T) {
	for _, c := range []struct {
		name   string
		flags  []string
		record bool
	}{{"plain", nil, false}, {"stripped", []string{"-no-pie", "STRIP"}, false}, {"recorded", nil, true}} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, "regions", c.flags...)
			s.Settings.Probe = target.ProbeAuto
			if c.record {
				if err := s.Recorder.Start(); err != nil {
					t.Fatal(err)
				}
			}
			said := classified(t, s)
			space := checkSpace(t, s, said)
			checkResident(t, s, space)
			own := 0
			for i := range space.Regions {
				if space.Regions[i].Kind == regions.Debugger {
					own++
				}
			}
			if (own > 0) != c.record {
				t.Errorf("%d regions are hdb's", own)
			}
			if c.record {
				return
			}
			core := filepath.Join(t.TempDir(), "core")
			if _, err := s.Cores.Write(core, false); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Kill(); err != nil {
				t.Fatal(err)
			}
			if _, _, err := s.Cores.Open(core, ""); err != nil {
				t.Fatal(err)
			}
			if total, unknown := checkSpace(t, s, said).Total(); total.Resident != 0 || unknown == 0 {
				t.Errorf("a core tells of %d resident bytes", total.Resident)
			}
		})
	}
}

// checkResident holds the sum of the regions against what the kernel counts.
func checkResident(t *testing.T, s *Session, space *regions.Space) {
	t.Helper()
	total, unknown := space.Total()
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", s.target.Image.PID()))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]uint64{}
	for _, line := range strings.Split(string(rollup), "\n")[1:] {
		var name string
		var n uint64
		if _, err := fmt.Sscan(line, &name, &n); err == nil {
			want[name] = n << 10
		}
	}
	if got := (regions.Usage{Resident: want["Rss:"], Dirty: want["Private_Dirty:"] + want["Shared_Dirty:"], Swap: want["Swap:"]}); total != got || unknown != 0 || got.Resident == 0 {
		t.Errorf("the regions have %+v, the process %+v; of %d bytes it is not known", total, got, unknown)
	}
	image, err := s.Heap.Image()
	if err != nil {
		t.Fatal(err)
	}
	var sum regions.Usage
	layers, known, _ := image.Layers()
	for _, l := range layers {
		sum = sum.Plus(l.Usage)
		if l.Guess {
			t.Errorf("%s: a guess", l.Name)
		}
	}
	if sum != total || !known {
		t.Errorf("the layers have %+v, the regions %+v; blocks known: %v", sum, total, known)
	}
	for i := range space.Regions {
		if r := &space.Regions[i]; r.Guess {
			t.Errorf("%v %v-%v: resident %d is a guess", r.Kind, r.Start, r.End, r.Resident)
		}
	}
}

// TestHeapOfAReadingThatIsGivenUp: Ctrl-C while the heap is read leaves nothing of it for the next command.
func TestHeapOfAReadingThatIsGivenUp(t *testing.T) {
	s := open(t, "held")
	setBreak(t, s, "at_rest")
	must(t)(s.Run(nil))
	ctx, cancel := context.WithCancel(t.Context())
	s.Within(capture.NewReading(ctx))
	image, err := s.Heap.Image()
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := image.Heap(); err == nil {
		t.Error("the heap was read though nobody waits for it")
	}
	s.Within(nil)
	if image, err = s.Heap.Image(); err != nil {
		t.Fatal(err)
	}
	if _, err := image.Heap(); err != nil {
		t.Error(err)
	}
}

// TestUnfollowedGivenUp: Ctrl-C while the blocks of the heap are counted is an error, not an answer that there are none.
func TestUnfollowedGivenUp(t *testing.T) {
	s := open(t, "held")
	setBreak(t, s, "at_rest")
	must(t)(s.Run(nil))
	ctx, cancel := context.WithCancel(t.Context())
	if w, err := s.Heap.UnrecordedBlocks(ctx); err != nil || w == nil || w.Blocks == 0 {
		t.Errorf("%v, %v", w, err)
	}
	cancel()
	if w, err := s.Heap.UnrecordedBlocks(ctx); err == nil {
		t.Errorf("given up: %v", w)
	}
}

// TestBlocksAreReadWhereTouched: what searches blocks leaves no page in the process that was not there before.
func TestBlocksAreReadWhereTouched(t *testing.T) {
	s := open(t, "held")
	setBreak(t, s, "at_rest")
	must(t)(s.Run(nil))
	image, err := s.Heap.Image()
	if err != nil {
		t.Fatal(err)
	}
	maps, err := os.Open(fmt.Sprintf("/proc/%d/pagemap", s.target.Proc.PID()))
	if err != nil {
		t.Fatal(err)
	}
	defer maps.Close()
	pages := func() (low addr.Run, n int) {
		for _, b := range image.Blocks() {
			if b.Size >= 1<<20 {
				low = addr.Run(b.Addr)
				entries := make([]byte, b.Size/regions.PageSize*8)
				if _, err := maps.ReadAt(entries, int64(b.Addr/regions.PageSize*8)); err != nil {
					t.Fatal(err)
				}
				for i := 7; i < len(entries); i += 8 {
					n += int(entries[i] >> 7) // present, be it the page of zeros
				}
			}
		}
		return low, n
	}
	low, before := pages()
	if low == 0 || before > 16 {
		t.Fatalf("the large block at %v has %d pages", low, before)
	}
	if _, _, err := s.BlockTypes.SearchBlocks(t.Context(), []byte("no block has this"), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Heap.Why(t.Context(), uint64(low), 1); err != nil {
		t.Fatal(err)
	}
	if _, after := pages(); after != before {
		t.Errorf("it had %d pages, and has %d", before, after)
	}
}
