// Frames has goroutines wait, in each of the ways in which one can, with lists in their frames: some are used
// afterwards, others not any more. It says "waits", and, once its standard input ends, how many blocks a
// collection leaves. A list has 128 blocks or more, so that one too many or too few shows. It is compiled by Go 1.18 and later.
package main

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type node struct {
	next *node
	pad  [6]int
}

type wide struct { // is passed in memory
	pad  [12]int
	list *node
}

var (
	stop  = make(chan bool)
	mutex sync.Mutex
	pipe  [2]int
	ended int32
	sink  int
	ready sync.WaitGroup
)

//go:noinline
func list(n int) (first *node) {
	for i := 0; i < n; i++ {
		first = &node{next: first}
	}
	return first
}

//go:noinline
func sum(n *node) (count int) {
	for ; n != nil; n = n.next {
		count++
	}
	return count
}

//go:noinline
func wait() { ready.Done(); <-stop }

func unused() {
	n := list(128)
	sink += sum(n)
	wait()
}

func used() {
	n := list(256)
	wait()
	sink += sum(n)
}

//go:noinline
func fill(w *wide, n int) *wide { w.list = list(n); return w }

func variable() { // that only a pointer leads to
	var w wide
	p := fill(&w, 512)
	wait()
	sink += sum(p.list)
}

func unusedVariable() {
	var w wide
	sink += sum(fill(&w, 1024).list)
	wait()
}

func argument(w wide) {
	wait()
	sink += sum(w.list)
}

func closure() {
	n := list(300)
	f := func() { sink += sum(n) }
	wait()
	f()
	sink += sum(n)
}

func deferred() {
	n := list(400)
	defer func() { sink += sum(n) }()
	wait()
}

func deferredInLoop(times int) {
	for i := 0; i < times; i++ {
		n := list(200)
		defer func() { sink += sum(n) }()
	}
	wait()
}

func panics() {
	n := list(600)
	defer func() {
		wait()
		recover()
		sink += sum(n)
	}()
	var none *wide
	sink += none.pad[3]
}

func reflected() {
	f := reflect.MakeFunc(reflect.TypeOf(sum), func(args []reflect.Value) []reflect.Value {
		wait()
		return []reflect.Value{reflect.ValueOf(sum(args[0].Interface().(*node)))}
	})
	sink += f.Interface().(func(*node) int)(list(700))
}

func (w *wide) Wait(n *node) {
	wait()
	sink += sum(n) + sum(w.list)
}

func method() {
	f := reflect.ValueOf(&wide{list: list(150)}).Method(0).Interface().(func(*node))
	f(list(170))
}

func call() {
	n := list(800)
	ready.Done()
	var b [1]byte
	syscall.Read(pipe[0], b[:])
	sink += sum(n)
}

func runs() {
	sink += sum(list(900))
	n := list(1000)
	ready.Done()
	for i := 0; atomic.LoadInt32(&ended) == 0; i++ {
		sink += i
	}
	sink += sum(n)
}

func locks() {
	n := list(350)
	ready.Done()
	mutex.Lock()
	sink += sum(n)
	mutex.Unlock()
}

func selects() {
	n := list(450)
	ready.Done()
	select {
	case <-stop:
	case <-make(chan int):
	}
	sink += sum(n)
}

func sleeps() {
	n := list(550)
	ready.Done()
	time.Sleep(time.Hour)
	sink += sum(n)
}

func main() {
	debug.SetGCPercent(-1)
	mutex.Lock()
	syscall.Pipe(pipe[:])
	all := []func(){unused, used, variable, unusedVariable, func() { argument(wide{list: list(650)}) }, closure, deferred,
		func() { deferredInLoop(3) }, panics, reflected, method, call, runs, locks, selects, sleeps}
	for round := 0; round < 3; round++ {
		ready.Add(len(all))
		for _, f := range all {
			go f()
		}
		ready.Wait()
	}
	all = nil
	time.Sleep(100 * time.Millisecond) // until all wait: a goroutine cannot be asked whether it has blocked
	fmt.Fprintln(os.Stderr, "waits")
	var b [1]byte
	syscall.Read(0, b[:])
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Println(m.Mallocs - m.Frees)
	os.Exit(0)
}
