// sites allocates from stacks of many kinds: inlined calls, generic functions, closures,
// methods, goroutines, deferred calls, package reflect, maps, slices that grow, texts, channels,
// large blocks. With MemProfileRate = 1 its own heap profile has each block in a slot of its own.
//
// The profile is written to the file named by the first argument.
package main

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sort"
	"strings"
	"sync"
)

type page struct {
	next *page
	text [5]int
}

type tree[T any] struct {
	left, right *tree[T]
	value       T
}

var (
	kept  []any
	pages *page
)

func small() *page { return &page{} } // inlined

//go:noinline
func large() []byte { return make([]byte, 100_000) }

//go:noinline
func insert[T any](t *tree[T], v T, depth int) *tree[T] {
	if depth == 0 {
		return &tree[T]{value: v}
	}
	t.left = insert(&tree[T]{}, v, depth-1)
	return t
}

type shelf struct{ m map[string]*page }

//go:noinline
func (s *shelf) put(key string) { s.m[key] = small() }

//go:noinline
func loadShelf() {
	s := &shelf{m: map[string]*page{}}
	for i := 0; i < 300; i++ {
		s.put(fmt.Sprintf("key number %d", i))
	}
	kept = append(kept, s)
}

//go:noinline
func loadPages() {
	for i := 0; i < 1000; i++ {
		p := small()
		if i%3 == 0 {
			p.next, pages = pages, p
		}
	}
}

//go:noinline
func loadTrees() {
	kept = append(kept, insert(&tree[int]{}, 7, 6), insert(&tree[string]{}, "seven", 4), insert(&tree[page]{}, page{}, 3))
}

//go:noinline
func loadLarge() {
	kept = append(kept, large())
	for i := 0; i < 5; i++ {
		_ = append(large(), 'a')
	}
}

//go:noinline
func loadClosures() {
	add := func(n int) func() *page { return func() *page { p := small(); p.text[0] = n; return p } }
	for i := 0; i < 20; i++ {
		kept = append(kept, add(i)())
	}
}

//go:noinline
func loadDeferred() {
	for i := 0; i < 10; i++ {
		func() {
			defer func() { kept = append(kept, small()) }()
			defer func() { _ = recover() }()
			if i%2 == 0 {
				panic(errors.New("deferred"))
			}
		}()
	}
}

//go:noinline
func loadReflect() {
	for i := 0; i < 10; i++ {
		v := reflect.New(reflect.TypeOf(page{}))
		f := reflect.ValueOf(func(n int) *page { return &page{text: [5]int{n}} })
		kept = append(kept, v.Interface(), f.Call([]reflect.Value{reflect.ValueOf(i)})[0].Interface())
	}
	swap := reflect.MakeFunc(reflect.TypeOf(func() *page { return nil }), func([]reflect.Value) []reflect.Value {
		return []reflect.Value{reflect.ValueOf(small())}
	})
	kept = append(kept, swap.Interface().(func() *page)())
}

//go:noinline
func loadTexts() {
	var b strings.Builder
	for i := 0; i < 200; i++ {
		b.WriteString("a piece of text ")
	}
	words := strings.Fields(b.String())
	sort.Slice(words, func(i, j int) bool { return words[i] < words[j] })
	kept = append(kept, strings.Join(words, "+"), []byte(b.String()), []rune(b.String()))
}

//go:noinline
func loadMethod() {
	s := &shelf{m: map[string]*page{}}
	put := s.put // a method value
	for i := 0; i < 30; i++ {
		put(strings.Repeat("x", 20+i))
	}
	kept = append(kept, s)
}

//go:noinline
func loadWorker(n int, c chan<- *page) {
	for i := 0; i < n; i++ {
		c <- small()
	}
}

//go:noinline
func loadGoroutines() {
	c := make(chan *page, 10)
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() { defer all.Done(); loadWorker(100, c) }()
	}
	go func() { all.Wait(); close(c) }()
	for p := range c {
		kept = append(kept, p)
	}
}

func main() {
	runtime.MemProfileRate = 1
	debug.SetGCPercent(50)
	for i := 0; i < 3; i++ {
		loadShelf()
		loadPages()
		loadTrees()
		loadLarge()
		loadClosures()
		loadDeferred()
		loadReflect()
		loadTexts()
		loadMethod()
		loadGoroutines()
		if i == 1 {
			kept, pages = kept[:len(kept)/2], nil
		}
	}
	debug.SetGCPercent(-1)
	for i := 0; i < 3; i++ { // the profile is of what the collection before the last has finished
		runtime.GC()
	}
	f, err := os.Create(os.Args[1])
	if err == nil {
		err = pprof.Lookup("allocs").WriteTo(f, 0)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	runtime.KeepAlive(kept)
}
