// Allocates objects of sizes that nothing else in the program has, on several
// goroutines with growing stacks.
package main

import "sync"

var kept [][]byte

//go:noinline
func grow(n int) byte {
	var room [512]byte
	room[n%512] = byte(n)
	if n > 0 {
		room[0] += grow(n - 1)
	}
	kept = append(kept[:0], make([]byte, size(12347)))
	return room[n%512]
}

//go:noinline
func size(n int) int { return n }

func main() {
	grow(50)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 25 {
				b := make([]byte, size(23457))
				b[0] = 1
			}
		})
	}
	wg.Wait()
}
