// A Go program: slices that grow, a map, strings, and goroutines that
// allocate.
package main

import (
	"fmt"
	"strings"
	"sync"
)

type page struct {
	data [6000]byte
	next *page
}

//go:noinline
func chain(n int) *page {
	var first *page
	for range n {
		first = &page{next: first}
	}
	return first
}

//go:noinline
func grow(n int) []int {
	var s []int
	for i := range n {
		s = append(s, i)
	}
	return s
}

func main() {
	var wg sync.WaitGroup
	lengths := make([]int, 3)
	for i := range lengths {
		wg.Add(1)
		go func() {
			defer wg.Done()
			lengths[i] = len(grow(1000 * (i + 1)))
		}()
	}
	wg.Wait()
	pages := 0
	for p := chain(10); p != nil; p = p.next {
		pages++
	}
	big := make([]byte, 2<<20)
	words := map[string]int{}
	for _, w := range strings.Fields(strings.Repeat("one two three ", 10)) {
		words[w]++
	}
	fmt.Println(lengths, pages, len(big), words["two"])
}
