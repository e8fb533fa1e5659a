package main

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
)

// Small programs that do nothing but allocate.

// conditionRows measures a condition that never holds. The program times itself
// and prints what a pair of malloc and free took in its median batch.
func (b *bench) conditionRows() error {
	if !b.wanted("condition") {
		return nil
	}
	b.progress("condition")
	ms := 300
	if b.full {
		ms = 1000
	}
	program := func(ms int) work { return work{argv: []string{b.programs["microcond"], strconv.Itoa(ms)}} }
	timed := func(w work) (sample, error) {
		c, err := w.run(b.home, b.limit)
		if err != nil {
			return sample{}, err
		}
		ns, err := printed(c.out, "pair_ns")
		return sample{own: ns}, err
	}
	// A terabyte, as in never. *malloc is gdb's cheapest way: one place.
	gdb := program(400)
	gdb.argv = append([]string{"gdb", "-batch", "-nx", "-ex", "break main", "-ex", "run",
		"-ex", "break *malloc if $rdi >= 1099511627776", "-ex", "continue", "--args"}, gdb.argv...)
	r := interleave(max(5, b.rounds), []variant{
		{"native", func() (sample, error) { return timed(program(ms)) }},
		{"gdb", func() (sample, error) { return timed(gdb) }},
		{"hdb", func() (sample, error) { return timed(b.hdb.batch(program(ms), never, "run")) }},
	})
	b.failed("condition", r)
	native, peer, ours := r.series("native", own), r.series("gdb", own), r.series("hdb", own)
	added := minus(ours, native)
	// What is lost in the noise must not make the ratio infinite.
	ratio := each(func(v []float64) float64 { return v[0] / max(v[1], 0.1) }, minus(peer, native), added)
	call := each(func(v []float64) float64 { return v[0] / 2 }, added)
	b.rows = append(b.rows,
		row{
			Group: "condition", What: "malloc and free",
			Native: quantity{"", "ns", native}, Peer: quantity{"gdb", "ns", peer}, HDB: quantity{"", "ns", ours},
			Figure: quantity{"", "ns", call}, Goal: &goal{Limit: 5},
			Note: remarks("(hdb - native) / 2: the pair is two calls", b.hdb.condition.remark(), r.why("hdb")),
		},
		row{
			Group: "condition", What: "times cheaper than gdb's",
			Figure: quantity{"", "", ratio}, Goal: &goal{Limit: 10000, Least: true},
			Note: remarks("(gdb - native) / (hdb - native)", b.hdb.condition.remark()),
		})
	return nil
}

// recordRows measures recording with stacks, in the program alone: it prints the
// CPU time of its own process at its end.
func (b *bench) recordRows() error {
	pairs := cmp.Or(b.pairs, 2_000_000)
	if b.full {
		pairs = cmp.Or(b.pairs, 5_000_000)
	}
	for _, c := range []struct {
		what                 string
		depth, threads, path int
	}{
		{"depth 5", 5, 1, 1},
		{"depth 25", 25, 1, 1},
		{"depth 5, 2 threads", 5, 2, 1},
		{"depth 25, 2 threads", 25, 2, 1},
		{"depth 25, 256 stacks", 25, 1, 256},
	} {
		if !b.wanted("record " + c.what) {
			continue
		}
		b.progress("record " + c.what)
		w := work{argv: []string{b.programs["micro"], strconv.Itoa(c.depth), strconv.Itoa(c.threads), strconv.Itoa(pairs), strconv.Itoa(c.path)}}
		r := b.recordMicro(c.what, w, float64(pairs))
		if c.path == 1 {
			r.Goal = &goal{Limit: 0.3}
		}
		b.rows = append(b.rows, r)
	}
	return nil
}

func (b *bench) recordMicro(what string, w work, pairs float64) row {
	var last captured
	variants := []variant{
		{"native", func() (sample, error) {
			c, err := w.run(b.home, b.limit)
			if err != nil {
				return sample{}, err
			}
			us, err := printed(c.out, "cpu_us")
			return sample{cpu: c.cpu.Seconds(), own: us}, err
		}},
		{"heaptrack", func() (sample, error) { return b.heaptrack(w, false) }},
	}
	plain := b.tooLong(2 * pairs)
	if plain == "" {
		variants = append(variants, variant{"hdb", func() (s sample, err error) {
			s, last, err = b.recorded(w)
			return s, err
		}})
	}
	r := interleave(b.rounds, variants)
	b.failed("record "+what, r)
	ns := func(name string, pick func(sample) float64, unit float64) series {
		return r.series(name, pick).scale(unit / pairs)
	}
	native, peer, ours := ns("native", own, 1e3), ns("heaptrack", own, 1e3), ns("hdb", own, 1e3)
	note := fmt.Sprintf("with the tool's own: heaptrack %s ns", digits(ns("heaptrack", cpu, 1e9).median()))
	if len(ours) > 0 {
		note += fmt.Sprintf(", hdb %s", digits(ns("hdb", cpu, 1e9).median()))
	}
	return row{
		Group: "record", What: what,
		Native: quantity{"", "ns", native}, Peer: quantity{"heaptrack", "ns", peer}, HDB: quantity{"", "ns", ours},
		Figure: quantity{"", "", over(minus(ours, native), minus(peer, native))},
		Note:   remarks(note, last.missing(2*pairs), plain, b.hdb.recording.remark(), r.why("hdb")),
	}
}

// tooLong says why recording so many calls is not tried.
func (b *bench) tooLong(events float64) string {
	p := b.hdb.recording
	whole := time.Duration(events / 2 * float64(p.call))
	if !p.plain() || whole < 15*time.Second {
		return ""
	}
	return fmt.Sprintf("hdb would take some %v a run", whole.Round(10*time.Second))
}
