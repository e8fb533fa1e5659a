// Traps allocates a hundred times a millisecond in four goroutines, and answers each line of standard
// input; it ends with that. It says when it gets a SIGTRAP.
package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

var kept [4]*[100]byte

//go:noinline
func work(g, n int) {
	kept[g] = new([100]byte)
	kept[g][0] = byte(n)
}

func main() {
	for g := range kept {
		go func(g int) {
			for {
				for n := 1; n <= 25; n++ {
					work(g, n)
				}
				time.Sleep(time.Millisecond)
			}
		}(g)
	}
	traps := make(chan os.Signal, 1)
	signal.Notify(traps, syscall.SIGTRAP)
	go func() {
		for range traps {
			fmt.Println("trapped")
		}
	}()
	in := bufio.NewReader(os.Stdin)
	for {
		if _, err := in.ReadString('\n'); err != nil {
			return
		}
		fmt.Println("goes on")
	}
}
