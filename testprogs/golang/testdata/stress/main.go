// Stress allocates in all the ways in which a Go runtime does, from several goroutines, and
// says at the end what the runtime has counted, behind an allocation of as many bytes as
// nothing else asks for. It is compiled by Go 1.18 and later.
//
//	stress [ROUNDS]    or, with -, until standard input ends
//
// With STORM in its environment it sends itself SIGURG, by which the runtime preempts
// goroutines, and profiles its CPU time meanwhile, ten thousand times a second each. PROFILE
// names the file of the profile.
package main

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type small struct {
	next *small
	n    int
}

type wide struct { // with a header before it since Go 1.22
	next *wide
	pad  [1000]byte
}

type flat [3]byte

var (
	mu    sync.Mutex
	ended int32
	kept  []interface{}
	texts = map[string][]byte{}
)

func keep(x interface{}) {
	mu.Lock()
	kept = append(kept, x)
	mu.Unlock()
}

//go:noinline
func tiny(n int) *flat { return &flat{byte(n)} }

//go:noinline
func chain(n int) (s *small) {
	for i := 0; i < n; i++ {
		s = &small{s, i}
	}
	return s
}

//go:noinline
func broad(n int) (w *wide) {
	for i := 0; i < n; i++ {
		w = &wide{next: w}
	}
	return w
}

//go:noinline
func bytesOf(n int) []byte { return make([]byte, n) }

//go:noinline
func pointersOf(n int) []*int { return make([]*int, n) }

func deep(n int) int {
	var room [512]byte
	room[n%512] = byte(n)
	if n == 0 {
		return len(chain(10).name())
	}
	return deep(n-1) + int(room[n%512])
}

func (s *small) name() string { return fmt.Sprint("small ", s.n) }

func work(seed, rounds int) {
	r := uint32(seed)*2654435761 + 1
	next := func(n int) int {
		r ^= r << 13
		r ^= r >> 17
		r ^= r << 5
		return int(r) & 0x7fffffff % n
	}
	for i := 0; i < rounds || rounds == 0 && atomic.LoadInt32(&ended) == 0; i++ {
		var x interface{}
		switch next(12) {
		case 0:
			x = tiny(i)
		case 1:
			x = chain(next(20))
		case 2:
			x = broad(next(4))
		case 3:
			x = bytesOf(1 + next(1<<uint(next(16))))
		case 4:
			x = pointersOf(next(3000))
		case 5:
			x = strings.Repeat("x", next(40))
		case 6:
			m := map[int]string{}
			for k := 0; k < next(30); k++ {
				m[k] = strconv.Itoa(k * 1000)
			}
			x = m
		case 7:
			x = reflect.New(reflect.TypeOf(small{})).Interface()
		case 8:
			f := tiny(i)
			runtime.SetFinalizer(f, func(*flat) {})
			x = f
		case 9:
			done := make(chan int)
			go func() { done <- deep(next(200)) }()
			x = <-done
		case 10:
			var s []string
			for k := 0; k < next(50); k++ {
				s = append(s, fmt.Sprint(k))
			}
			x = s
		case 11:
			n := i
			x = func() int { n++; return n }
		}
		if next(10) == 0 {
			keep(x)
		}
		if next(1000) == 0 {
			mu.Lock()
			kept = kept[:len(kept)/2]
			mu.Unlock()
		}
		if next(2000) == 0 {
			runtime.GC()
		}
		if next(3000) == 0 {
			keep(bytesOf(1<<20 + next(1<<20)))
		}
	}
}

// storm sends SIGURG until it is ended.
func storm() (end func()) {
	runtime.SetCPUProfileRate(10_000) // StartCPUProfile then says that it is set, and keeps it
	profile := io.Discard
	if name := os.Getenv("PROFILE"); name != "" {
		f, err := os.Create(name)
		if err != nil {
			panic(err)
		}
		profile = f
	}
	if err := pprof.StartCPUProfile(profile); err != nil {
		panic(err)
	}
	quit, done := make(chan int), make(chan int)
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			case <-time.After(100 * time.Microsecond):
				syscall.Kill(os.Getpid(), syscall.SIGURG)
			}
		}
	}()
	return func() {
		close(quit)
		<-done
		pprof.StopCPUProfile()
	}
}

var (
	marker []byte
	stats  runtime.MemStats
)

func main() {
	rounds := 20_000
	if len(os.Args) > 1 {
		rounds, _ = strconv.Atoi(os.Args[1])
	}
	if rounds == 0 {
		go func() {
			os.Stdin.Read(make([]byte, 1))
			atomic.StoreInt32(&ended, 1)
		}()
	}
	end := func() {}
	if os.Getenv("STORM") != "" {
		end = storm()
	}
	var wg sync.WaitGroup
	for i := 1; i <= 4; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			work(i, rounds)
		}(i)
	}
	wg.Wait()
	end()
	counts := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/frees:objects"}, {Name: "/gc/heap/tiny/allocs:objects"}}
	metrics.Read(counts)     // the first time it allocates
	for i := 0; i < 4; i++ { // finalizers run, and what they kept is swept
		runtime.GC()
	}
	// ReadMemStats adds up what processors have counted for themselves, but may have threads
	// made, for which the runtime allocates.
	for before := uint64(0); before == 0 || stats.Mallocs != before; {
		runtime.ReadMemStats(&stats)
		before = stats.Mallocs
		metrics.Read(counts)
		runtime.ReadMemStats(&stats)
	}
	marker = make([]byte, 7_777_777)
	fmt.Println("allocs", counts[0].Value.Uint64(), "frees", counts[1].Value.Uint64(), "tiny", counts[2].Value.Uint64())
	runtime.KeepAlive(kept)
}
