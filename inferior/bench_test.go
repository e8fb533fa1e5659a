package inferior

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"
)

// BenchmarkTrap is one trap whose handler reads the registers and resumes.
func BenchmarkTrap(b *testing.B) {
	p, _ := launch(b, build(b, "loop"), strconv.Itoa(b.N))
	plant(b, p, symbol(b, p, "hit"), func(t *Thread) Action {
		if _, err := t.Regs(); err != nil {
			b.Error(err)
		}
		return Resume
	})
	b.ResetTimer()
	wantExit(b, p, 7)
}

// BenchmarkStop is one stop of everything and Continue from it.
func BenchmarkStop(b *testing.B) {
	p, _ := launch(b, build(b, "loop"), strconv.Itoa(b.N))
	plant(b, p, symbol(b, p, "hit"), func(*Thread) Action { return StopHere })
	b.ResetTimer()
	for range b.N {
		if s := resume(b, p); s.Reason != Trapped {
			b.Fatalf("stop %v", s.Reason)
		}
		if _, err := p.target.Threads()[0].Regs(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	wantExit(b, p, 7)
}

// BenchmarkStepOver is a trap on an instruction that must be single-stepped.
func BenchmarkStepOver(b *testing.B) {
	p, _ := launch(b, build(b, "loop"), strconv.Itoa(b.N))
	tr := plant(b, p, symbol(b, p, "hit"), func(*Thread) Action { return Resume })
	tr.site.emulate = nil
	b.ResetTimer()
	wantExit(b, p, 7)
}

// BenchmarkStopThreads is a stop and Continue with 30 threads.
func BenchmarkStopThreads(b *testing.B) {
	p, _ := launch(b, build(b, "threads"), "30", "1", strconv.Itoa(b.N/30+1))
	plant(b, p, symbol(b, p, "hit"), func(*Thread) Action { return StopHere })
	b.ResetTimer()
	for range b.N {
		resume(b, p)
	}
}

// BenchmarkPatch is a patch put in and taken out, all threads being stopped.
func BenchmarkPatch(b *testing.B) {
	h := launchHook(b, "once", "1")
	b.ResetTimer()
	for range b.N {
		h.install(b)
		if err := h.patch.Remove(); err != nil {
			b.Fatal(err)
		}
		h.p.patches.retired = nil // as the next stop does
	}
}

// BenchmarkSnapshot copies a process of 256 MiB of pages of 4 KiB: how long it stands still, and how
// quickly the copy is read.
func BenchmarkSnapshot(b *testing.B) {
	const mib = 256
	p, _ := launch(b, build(b, "copied"), "0", fmt.Sprint(mib), "1")
	plant(b, p, symbol(b, p, "hit"), func(*Thread) Action { return StopHere })
	resume(b, p)
	pages := int64(wordOf(b, &p.memory, symbol(b, p, "pages")))
	buf := make([]byte, 1<<20)
	var took, read time.Duration
	cpu := func() (ns float64) {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", p.target.pid))
		_, _ = fmt.Sscan(string(b), &ns) // 0 without that file
		return ns
	}
	used := 0.0
	for b.Loop() {
		used -= cpu()
		s, err := p.snapshots.Snapshot()
		if err != nil {
			b.Fatal(err)
		}
		used += cpu()
		took += s.Took()
		from := time.Now()
		for i := range int64(mib) {
			if _, err := s.ReadAt(buf, pages+i<<20); err != nil {
				b.Fatal(err)
			}
		}
		read += time.Since(from)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(took.Microseconds())/1e3/float64(b.N), "ms-stopped/op")
	b.ReportMetric(used/1e6/float64(b.N), "ms-CPU/op") // of the process: what it takes on an idle machine
	b.ReportMetric(float64(b.N)*mib/read.Seconds(), "MiB-read/s")
}
