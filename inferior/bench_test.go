package inferior

import (
	"strconv"
	"testing"
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
