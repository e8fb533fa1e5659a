package probe

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// Go's collector, which stops all goroutines for a moment, does not wait for one that
// naps until the end of its nap.
func TestNapEndsForTheRuntime(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(napFrom))
	var word atomic.Uint32
	word.Store(1)
	asleep, awake := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(awake)
		close(asleep)
		for word.Load() == 1 {
			futexNap(&word, 1, int64(time.Hour))
		}
	}()
	<-asleep
	for range 10 {
		runtime.GC()
	}
	word.Store(0)
	futexWake(&word)
	<-awake
}
