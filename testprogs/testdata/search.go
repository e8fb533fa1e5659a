// A server that searches with a timeout. While the disk is slow the searches time out, and each leaves a goroutine behind; not with -fixed.
package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"
)

const timeout = 20 * time.Millisecond

var errTimeout = errors.New("timeout")

type answer struct {
	query string
	page  []byte
}

type server struct {
	disk    sync.Mutex
	reading sync.WaitGroup
	buffer  int // of the channels
}

//go:noinline
func (s *server) read(query string) *answer {
	defer s.reading.Done()
	s.disk.Lock()
	defer s.disk.Unlock()
	return &answer{query, make([]byte, 64<<10)}
}

//go:noinline
func (s *server) search(query string) (*answer, error) {
	ch := make(chan *answer, s.buffer)
	s.reading.Add(1)
	go func() {
		ch <- s.read(query)
	}()
	select {
	case a := <-ch:
		return a, nil
	case <-time.After(timeout):
		return nil, errTimeout
	}
}

// burst makes queries at the same time.
func (s *server) burst(n int) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { s.search(fmt.Sprint("query ", i)) })
	}
	all.Wait()
}

// settle waits until no goroutine but its own can run.
func settle() {
	stacks := make([]byte, 256<<10)
	for {
		n := runtime.Stack(stacks, true)
		if text := string(stacks[:n]); !strings.Contains(text, "[runnable") && strings.Count(text, "[running") == 1 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

//go:noinline
func report(round, goroutines int) { fmt.Printf("round %d: %d goroutines\n", round, goroutines) }

func main() {
	s := &server{}
	if len(os.Args) > 1 && os.Args[1] == "-fixed" {
		s.buffer = 1
	}
	for round := range 3 {
		s.disk.Lock()
		s.burst(40)
		s.disk.Unlock()
		s.reading.Wait()
		settle()
		runtime.GC()
		report(round, runtime.NumGoroutine())
	}
}
