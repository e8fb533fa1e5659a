package glibc

import (
	"testing"

	"hdb/testprogs"
)

// BenchmarkOpen walks the heap of a program with a million blocks. go test -bench tells
// how many chunks a second that is.
func BenchmarkOpen(b *testing.B) {
	ledger := compiled(b, "ledger.c", "-shared", "-fPIC", "-O2")
	f := follow(b, ledger, 1_000_000, testprogs.Tool(b, "perl"), "-e", `my @a; for my $i (0..2000000) { push @a, "x" x ($i % 100); } sleep 100`)
	src := f.source(f.stopped(false, false))
	chunks := 0
	for b.Loop() {
		h, err := Open(b.Context(), src)
		if err != nil {
			b.Fatal(err)
		}
		chunks, _ = h.Len()
	}
	b.ReportMetric(float64(chunks)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mchunks/s")
}
