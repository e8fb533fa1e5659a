package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"hdb/testprogs"
)

// How soon a program reaches main, and what a stop costs.

// launchRows measures what the probe adds to a launch, from the start of hdb to
// the program's main: it counts all that hdb does for it, whenever.
func (b *bench) launchRows() error {
	if !b.wanted("launch") {
		return nil
	}
	b.progress("launch")
	program := work{argv: []string{b.programs["microlibs"]}}
	timed := func(w work) func() (sample, error) {
		return func() (sample, error) {
			c, err := w.run(b.home, b.limit)
			if err != nil {
				return sample{}, err
			}
			ns, err := printed(c.out, "main_ns")
			return sample{own: (ns - float64(c.start)) / 1e6}, err
		}
	}
	r := interleave(max(7, b.rounds), []variant{
		{"native", timed(program)},
		{"hdb", timed(b.hdb.batch(program, "set probe off", "run"))},
		{"condition", timed(b.hdb.batch(program, never, "run"))},
		{"record", timed(b.hdb.batch(program, "record start", "run"))},
	})
	b.failed("launch", r)
	none := r.series("hdb", own)
	for _, name := range []string{"condition", "record"} {
		with := r.series(name, own)
		v := row{
			Group: "launch", What: "10 libraries, " + name,
			Native: quantity{"", "ms", r.series("native", own)}, Peer: quantity{"hdb without", "ms", none}, HDB: quantity{"", "ms", with},
			Figure: quantity{"", "ms", minus(with, none)}, Goal: &goal{Limit: 30}, Note: remarks("with - without", b.hdb.condition.remark(), r.why(name)),
		}
		if b.hdb.condition.plain() {
			v.Figure.Series = nil // it would not be the probe's
		}
		b.rows = append(b.rows, v)
	}
	return nil
}

// gdbRows compares hdb with gdb where a person waits for it.
func (b *bench) gdbRows() error {
	if !b.wanted("gdb") {
		return nil
	}
	small, err := testprogs.Program("basic")
	if err != nil {
		return err
	}
	stops, err := testprogs.Program("stops")
	if err != nil {
		return err
	}
	python, err := filepath.EvalSymlinks("/usr/bin/python3")
	if err != nil {
		return fmt.Errorf("%w (apt-get install python3-dbg)", err)
	}
	counted := []string{"break target", "ignore 1 1000000", "run"}
	for _, m := range []struct {
		what     string
		argv     []string
		commands []string
		inside   bool // the program prints the time, else it is that to the end
		unit     string
	}{
		{"stopped at main, small C program", []string{small}, []string{"break main", "run"}, false, "ms"},
		{"stopped at main, python3", []string{python, "-c", "1"}, []string{"break main", "run"}, false, "ms"},
		{"a stop that is ignored", []string{stops}, counted, true, "us"},
	} {
		b.progress(m.what)
		by := func(name string) variant {
			return variant{name, func() (sample, error) {
				w := b.hdb.batch(work{argv: m.argv}, m.commands...)
				if name == "gdb" {
					w.argv = gdb(m.argv, m.commands)
				}
				c, err := w.run(b.home, b.limit)
				if err != nil {
					return sample{}, err
				}
				if m.inside {
					ns, err := printed(c.out, "median")
					return sample{own: ns / 1e3}, err
				}
				if !strings.Contains(c.out, "main") {
					return sample{}, fmt.Errorf("%v did not stop at main:\n%s", w.argv, tail(c.out))
				}
				return sample{own: c.wall.Seconds() * 1e3}, nil
			}}
		}
		r := interleave(max(5, b.rounds), []variant{by("gdb"), by("hdb")})
		b.failed(m.what, r)
		peer, ours := r.series("gdb", own), r.series("hdb", own)
		b.rows = append(b.rows, row{
			Group: "gdb", What: m.what,
			Peer: quantity{"gdb", m.unit, peer}, HDB: quantity{"", m.unit, ours}, Figure: quantity{"", "", over(ours, peer)},
			Note: r.why("hdb"),
		})
	}
	return nil
}

// gdb is the command line that runs the commands in gdb.
func gdb(program, commands []string) []string {
	argv := []string{"gdb", "-batch", "-nx"}
	for _, c := range commands {
		argv = append(argv, "-ex", c)
	}
	return append(append(argv, "--args"), program...)
}
