package main

import (
	"errors"
	"fmt"
	"os"
	"time"
	"unsafe"
)

type point struct{ x, y int }
type color uint8

const (
	red color = iota
	green
)

type shape interface{ area() float64 }
type circle struct{ r float64 }

func (c *circle) area() float64 { return c.r * c.r }

type node struct {
	next *node
	v    int
	*point
}

var global = map[string]int{"two": 2}

//go:noinline
func work(n int, s string, p *point, xs []int, sh shape, fs ...float64) (sum int, err error) {
	arr := [3]uint8{1, 2, 3}
	m := map[int]string{1: "one"}
	var nilm map[string]bool
	var nilp *point
	var nils []string
	var e error = errors.New("bad")
	var none error
	var any1 any = 42
	any2 := any(point{3, 4})
	c := green
	f := 2.5
	f32 := float32(0.1)
	cx := complex(1, -2)
	fn := func(a int) int { return a + n }
	ch := make(chan int, 3)
	ch <- 1
	list := &node{next: &node{v: 2}, v: 1, point: p}
	by := []byte("hi\x1b[31m")
	long := make([]int, 500)
	ss := []string{"a", "b\n"}
	st := struct{ a, b int }{1, 2}
	var u uintptr = 0x1234
	up := unsafe.Pointer(p)
	t := time.Unix(0, 0).UTC()
	b := true
	r := 'x'
	pp := &p
	sp := []*point{p, nil}
	ms := map[string]point{"k": {1, 2}}
	if n > 0 {
		n := "shadow"
		fmt.Fprintln(os.Stderr, n) // stop
	}
	fmt.Fprintln(os.Stderr, arr, m, nilm, nilp, nils, e, none, any1, any2, c, f, f32, cx, fn(1), len(ch), list.v, by, long[0], ss, st, u, up, t, b, r, pp, sp, ms, global, xs, sh, fs)
	return n, err
}

func main() {
	p := &point{1, 2}
	sum, err := work(7, "hello", p, []int{4, 5, 6}, &circle{2}, 1.5, 2.5)
	fmt.Println(sum, err)
}
