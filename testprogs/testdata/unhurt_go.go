// As unhurt.c, in Go.
package main

import (
	"fmt"
	"os"
	"time"
)

var total int

var kept []byte

//go:noinline
func work(n int) {
	kept = make([]byte, n)
	kept[n-1] = 1
	total += int(kept[n-1])
}

func main() {
	fmt.Println("ready")
	for i := 0; i < 5 || len(os.Args) > 1; i++ {
		work(16000)
		time.Sleep(time.Millisecond)
		if len(os.Args) > 1 && i >= 5 {
			if _, err := os.Stat(os.Args[1]); err == nil {
				break
			}
		}
	}
	fmt.Println("fine")
	os.Exit(7)
}
