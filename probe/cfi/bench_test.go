package cfi

import (
	"testing"
	"time"

	"hdb/internal/addr"
)

// BenchmarkCompile compiles whole libraries. min-ms is the quickest run: what an
// injection pays when the machine has nothing else to do.
func BenchmarkCompile(b *testing.B) {
	for _, name := range []string{"libc", "libstdc++", "python3", "bash", "musl", "libLLVM"} {
		b.Run(name, func(b *testing.B) {
			m := open(b, name)
			rules := NewRules()
			rows, quickest := 0, time.Hour
			b.ReportAllocs()
			for b.Loop() {
				start := time.Now()
				rows = len(m.compile(b, rules).Offs)
				quickest = min(quickest, time.Since(start))
			}
			b.ReportMetric(float64(quickest.Microseconds())/1000, "min-ms")
			b.ReportMetric(float64(quickest.Nanoseconds())/float64(rows), "min-ns/row")
		})
	}
}

func BenchmarkAt(b *testing.B) {
	m := open(b, "libc")
	table := m.compile(b, NewRules())
	a, size := m.low, m.high-m.low
	for b.Loop() {
		table.At(a)
		a = m.low + (a-m.low+0x9e3779b1)%addr.File(size)
	}
}

// TestCompileAllocatesForNoRow: what is allocated does not depend on how many rows
// there are.
func TestCompileAllocatesForNoRow(t *testing.T) {
	m := open(t, "python3")
	rules := NewRules()
	m.compile(t, rules)
	if allocs := testing.AllocsPerRun(3, func() { m.compile(t, rules) }); allocs > 40 {
		t.Errorf("%v allocations", allocs)
	}
}
