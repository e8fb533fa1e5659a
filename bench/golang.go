package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// golangRows measures a program of Go: a condition that never holds, and recording, against
// the runtime's own heap profile of each allocation and gdb.
func (b *bench) golangRows() error {
	if !b.wanted("golang") {
		return nil
	}
	b.progress("golang")
	program := filepath.Join(b.out, "goalloc")
	build := exec.Command("go", "build", "-o", program, filepath.Join(b.sources, "goalloc.go"))
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", build.Args, err, out)
	}
	allocs := 4_000_000
	if b.full {
		allocs = 20_000_000
	}
	alloc := func(n, rate int) work {
		return work{argv: []string{program, strconv.Itoa(n)}, env: []string{"MEMPROFILERATE=" + strconv.Itoa(rate)}}
	}
	// The program's own figures: of its thread, and of a collection.
	collections := map[string]series{}
	timed := func(name string, w work) variant {
		return variant{name, func() (sample, error) {
			c, err := w.run(b.home, b.limit)
			if err != nil {
				return sample{}, err
			}
			if us, err := printed(c.out, "gc_us"); err == nil {
				collections[name] = append(collections[name], us)
			}
			ns, err := printed(c.out, "thread_ns")
			return sample{cpu: c.cpu.Seconds(), own: ns}, err
		}}
	}
	// *runtime.mallocgc is gdb's cheapest way: one place, without a prologue.
	const few, some = 500, 200_000 // of what costs much
	gdb := alloc(few, 0)
	gdb.argv = append([]string{"gdb", "-batch", "-nx", "-ex", "break main.deep", "-ex", "run", "-ex", "delete",
		"-ex", "break *'runtime.mallocgc' if $rax >= 1099511627776", "-ex", "continue", "--args"}, gdb.argv...)
	var last captured
	r := interleave(b.rounds, []variant{
		timed("native", alloc(allocs, 0)),
		timed("512 KiB", alloc(allocs, 512<<10)),
		timed("each", alloc(some, 1)),
		timed("gdb", gdb),
		timed("condition", b.hdb.batch(alloc(allocs, 0), never, "run")),
		{"hdb", func() (sample, error) {
			file := filepath.Join(b.out, "golang.hdb")
			if err := os.RemoveAll(file); err != nil {
				return sample{}, err
			}
			s, err := timed("hdb", b.hdb.record(alloc(allocs, 0), file)).run()
			if err == nil {
				last, err = readCapture(file)
			}
			return s, err
		}},
	})
	b.failed("golang", r)
	ns := func(name string) quantity { return quantity{"", "ns", r.series(name, own).least()} }
	peer := func(name, who string) quantity { q := ns(name); q.Who = who; return q }
	made := float64(allocs + 3<<20) // with those of the heap that is collected
	whole := func(name string, allocs float64) series { return r.series(name, cpu).scale(1e9 / allocs).least() }
	added := func(name string) quantity { return quantity{"", "ns", minus(ns(name).Series, ns("native").Series)} }
	missing := fmt.Sprintf("%.1f M events, %d calls lost", float64(last.totals.Events)/1e6, last.totals.Lost)
	native := ns("native")
	each := "MemProfileRate=1"
	b.rows = append(b.rows,
		row{Group: "golang", What: "a condition that never holds", Native: native, Peer: peer("gdb", "gdb"), HDB: ns("condition"), Figure: added("condition"), Goal: &goal{Limit: 8}, Note: r.why("condition")},
		row{Group: "golang", What: "recorded, its thread", Native: native, Peer: peer("each", each), HDB: ns("hdb"), Figure: added("hdb"), Goal: &goal{Limit: 40}, Note: r.why("hdb")},
		row{Group: "golang", What: "recorded, all processes", Native: quantity{"", "ns", whole("native", made)}, Peer: quantity{each, "ns", whole("each", some)}, HDB: quantity{"", "ns", whole("hdb", made)},
			Figure: quantity{"", "ns", minus(whole("hdb", made), whole("native", made))}, Goal: &goal{Limit: 120}, Note: remarks(missing, r.why("hdb"))},
		row{Group: "golang", What: "times what MemProfileRate=1 adds", Figure: quantity{"", "", over(minus(ns("hdb").Series, native.Series), minus(ns("each").Series, native.Series))}, Note: "the thread's: hdb / peer"},
		row{Group: "golang", What: "the profile as it is by default", Native: native, Peer: peer("512 KiB", "512 KiB")},
		row{Group: "golang", What: "a collection, with a condition", Native: quantity{"", "us", collections["native"].least()}, HDB: quantity{"", "us", collections["condition"].least()},
			Figure: quantity{"", "", over(collections["condition"].least(), collections["native"].least())}, Goal: &goal{Limit: 1.05}},
		row{Group: "golang", What: "a collection, recorded", Native: quantity{"", "us", collections["native"].least()}, HDB: quantity{"", "us", collections["hdb"].least()},
			Figure: quantity{"", "", over(collections["hdb"].least(), collections["native"].least())}},
	)
	return nil
}
