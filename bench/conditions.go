package main

import "strconv"

// question is something that is asked of each call of a program which makes pairs of
// malloc and free, and calls of a function of its own.
type question struct {
	what    string
	command string
	key     string  // what the program prints of it
	calls   float64 // of each pair, or of each call of the function, that the figure is for
	limit   float64 // ns, the goal
}

// questions are conditions that do not hold, by what decides them, and stops that are
// asked of each malloc.
var questions = []question{
	{"size", never, "low_ns", 2, 3},
	{"func()", `break alloc if func("qsort")`, "low_ns", 2, 30},
	{"caller()", `break alloc if caller("qsort")`, "low_ns", 2, 30},
	{"module()", `break alloc if module("libm")`, "low_ns", 2, 30},
	{"live", "break alloc if live >= 1TiB", "low_ns", 2, 30},
	{"blocks", "break alloc if blocks >= 1000000000", "low_ns", 2, 30},
	{"nth", "break alloc if nth == 1000000000000", "low_ns", 2, 30},
	{"addr of a free", "break free if addr == 0x10", "low_ns", 2, 30},
	{"size of a free", "break free if size >= 1TiB", "low_ns", 2, 30},
	{"an argument", "break called if n == -1", "call_ns", 1, 30},
	{"an argument, by a trap", "break called if (n & 1) == 7", "call_ns", 1, 30_000},
	{"a variable, by a trap", "break alloc if size == 100 && took[5] == -1", "low_ns", 1, 30_000},
	{"dprintf of the size", `dprintf alloc,"%lu at %p\n",$size,$addr`, "mean_ns", 1, 1000},
}

// askedRows measures what is asked of each call, a row each. Of a condition it is the
// fastest twentieth of the program's batches, in the best of all rounds for each side: what
// else the machine does only adds to them. What dprintf prints also takes the time that the
// program waits for room, so there all batches count.
func (b *bench) askedRows() error {
	ms := 300
	if b.full {
		ms = 1000
	}
	program := work{argv: []string{b.programs["microcond"], strconv.Itoa(ms)}}
	for _, q := range questions {
		if !b.wanted("asked " + q.what) {
			continue
		}
		b.progress("asked " + q.what)
		timed := func(w work) (sample, error) {
			c, err := w.run(b.home, b.limit)
			if err != nil {
				return sample{}, err
			}
			ns, err := printed(c.out, q.key)
			return sample{own: ns}, err
		}
		r := interleave(max(5, b.rounds), []variant{
			{"native", func() (sample, error) { return timed(program) }},
			{"hdb", func() (sample, error) { return timed(b.hdb.batch(program, q.command, "run")) }},
		})
		b.failed("asked "+q.what, r)
		native, ours := r.series("native", own).least(), r.series("hdb", own).least()
		b.rows = append(b.rows, row{
			Group: "asked", What: q.what,
			Native: quantity{"", "ns", native}, HDB: quantity{"", "ns", ours},
			Figure: quantity{"", "ns", minus(ours, native).scale(1 / q.calls)}, Goal: &goal{Limit: q.limit},
			Note: remarks(b.hdb.condition.remark(), r.why("hdb")),
		})
	}
	return nil
}
