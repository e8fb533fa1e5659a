// Stops allocates blocks of several types from goroutines that each make their own, until its
// standard input ends. It is compiled by Go 1.18 and later.
package main

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
)

type left struct{ next *left }

type right struct {
	next *right
	pad  [100]int
}

type item struct{ n, m int }

var ended int32

//go:noinline
func lefts() (l *left) {
	for i := 0; i < 10; i++ {
		l = &left{l}
	}
	return l
}

//go:noinline
func rights() (r *right) {
	for i := 0; i < 10; i++ {
		r = &right{next: r}
	}
	return r
}

//go:noinline
func items(n int) []item { return make([]item, n) }

//go:noinline
func texts(n int) string { return fmt.Sprint("text ", n) }

func worker(wg *sync.WaitGroup, work func(n int)) {
	defer wg.Done()
	for n := 2; atomic.LoadInt32(&ended) == 0; n++ {
		work(n%100 + 2)
	}
}

func launch(wg *sync.WaitGroup) {
	for _, work := range []func(int){
		func(int) { lefts() },
		func(int) { rights() },
		func(n int) { items(n) },
		func(n int) { texts(n) },
	} {
		wg.Add(1)
		go worker(wg, work)
	}
}

func main() {
	go func() {
		os.Stdin.Read(make([]byte, 1))
		atomic.StoreInt32(&ended, 1)
	}()
	var wg sync.WaitGroup
	launch(&wg)
	wg.Wait()
	fmt.Println("done")
}
