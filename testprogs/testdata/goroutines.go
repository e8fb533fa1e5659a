// A Go program with goroutines that wait for each other in different ways. It
// writes how Go's own traceback shows them to a file, if it is given one, and
// waits for standard input to end.
package main

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"sync"
	"time"
)

//go:noinline
func receive(ch chan int) int { return <-ch }

//go:noinline
func worker(ch chan int) { receive(ch) }

// leak makes goroutines that nothing will ever wake.
//
//go:noinline
func leak(ch chan int, n int) {
	for i := 0; i < n; i++ {
		go worker(ch)
	}
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

// await is generic: its name has type arguments.
//
//go:noinline
func await[K comparable, V any](ch chan pair[K, V]) V { return (<-ch).value }

type server struct{ ch chan int }

//go:noinline
func (s *server) serve() { receive(s.ch) }

type server2 struct{ *server } // its serve is a wrapper that the compiler makes

type server3 interface{ serve() }

//go:noinline
func deferred(ch chan int) {
	defer receive(ch)
}

//go:noinline
func nested(ch chan int) { inlined(ch) }

func inlined(ch chan int) {
	select {
	case <-ch:
	case <-make(chan int):
	}
}

//go:noinline
func ready(n int) { fmt.Println(n) }

func main() {
	ch := make(chan int)
	leak(ch, 40)
	s := &server{ch}
	go await(make(chan pair[string, int]))
	go s.serve()
	f := s.serve
	go func() { f(); runtime.Gosched() }()
	var i server3 = server2{s}
	go i.serve()
	go deferred(ch)
	go nested(ch)
	go reflect.ValueOf(receive).Call([]reflect.Value{reflect.ValueOf(ch)})
	make1 := reflect.MakeFunc(reflect.TypeOf(receive), func(args []reflect.Value) []reflect.Value {
		receive(ch)
		return nil
	}).Interface().(func(chan int) int)
	go make1(ch)
	var mu sync.Mutex
	mu.Lock()
	go func() {
		mu.Lock()
		mu.Unlock()
	}()
	go func() {
		runtime.LockOSThread()
		receive(ch)
	}()
	go func() {
		go receive(ch)
		receive(ch)
	}()
	go time.Sleep(time.Hour)
	go func() { select {} }()
	for runtime.NumGoroutine() < 55 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond) // nothing tells when all of them wait
	runtime.GC()
	n := runtime.NumGoroutine()
	if len(os.Args) > 1 {
		buf := make([]byte, 1<<20)
		os.WriteFile(os.Args[1], buf[:runtime.Stack(buf, true)], 0o666)
	}
	ready(n)
	io.Copy(io.Discard, os.Stdin)
}
