// Plugin loads a plugin, whose function makes blocks that the collector frees.
package main

import (
	"fmt"
	"os"
	"plugin"
)

func main() {
	p, err := plugin.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	work, err := p.Lookup("Work")
	if err != nil {
		panic(err)
	}
	fmt.Println(work.(func(int) int)(4000))
}
