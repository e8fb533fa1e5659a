package jemalloc

import (
	"bufio"
	"os"
	"os/exec"
	"testing"

	"hdb/testprogs"
)

// BenchmarkOpen reads the heap of a program with two million blocks. go test -bench tells how many
// blocks a second that is.
func BenchmarkOpen(b *testing.B) {
	cmd := exec.Command(testprogs.Tool(b, "perl"), "-e", `my @a; for my $i (0..1000000) { push @a, "x" x ($i % 100); } $| = 1; print "\n"; sleep 100`)
	cmd.Env = append(os.Environ(), "LD_PRELOAD=libjemalloc.so.2")
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		b.Fatal(err)
	}
	src := procSource(b, cmd.Process.Pid)
	blocks := 0
	for b.Loop() {
		h, err := Open(b.Context(), src)
		if err != nil {
			b.Fatal(err)
		}
		blocks = 0
		for range h.Blocks() {
			blocks++
		}
	}
	b.ReportMetric(float64(blocks), "blocks")
	b.ReportMetric(float64(blocks)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mblocks/s")
}
