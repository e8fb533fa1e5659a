//go:build unix

package file

import (
	"syscall"
	"testing"
	"time"
)

// reportCPU adds the processor time of n events to a benchmark: unlike the time
// on the clock it hardly depends on what else the machine does. start is what
// cputime was at the start.
func reportCPU(b *testing.B, start time.Duration, n int) {
	b.ReportMetric(float64((cputime()-start).Nanoseconds())/float64(b.N)/float64(n), "cpu-ns/event")
}

// cputime is what the process has used.
func cputime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
