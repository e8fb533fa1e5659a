package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// debugger is the hdb that is measured, and how it works on this machine.
type debugger struct {
	path                 string
	ex                   []string // commands before all others, as settings
	condition, recording plane
}

// plane is how a kind of work was found to be done, by what it costs.
type plane struct {
	name string
	call time.Duration // wall time of a call of malloc, with its free
	says string        // hdb's own words
}

// plain says that each call stops the program: no stop takes less than this,
// and what is decided or recorded in the process takes far less.
func (p plane) plain() bool { return p.call > 4*time.Microsecond }

// remark is for rows whose figure is not the probe's.
func (p plane) remark() string {
	if !p.plain() {
		return ""
	}
	return "with plain breakpoints"
}

func (p plane) String() string {
	how := "in the process"
	if p.plain() {
		how = "by plain breakpoints"
	}
	s := fmt.Sprintf("%s %s (%v a malloc and free)", p.name, how, p.call.Round(10*time.Nanosecond))
	if p.says != "" {
		s += "; hdb says: " + p.says
	}
	return s
}

// batch runs commands on a program.
func (d *debugger) batch(program work, commands ...string) work {
	argv := []string{d.path, "-batch", "-nx"}
	for _, c := range append(append([]string{}, d.ex...), commands...) {
		argv = append(argv, "-ex", c)
	}
	program.argv = append(append(argv, "--args"), program.argv...)
	return program
}

// never is a condition that no call in the programs meets.
const never = "break alloc if size >= 1TiB"

// record records the program into the file, by commands of the console when there are
// settings, which hdb record does not take.
func (d *debugger) record(program work, file string, args ...string) work {
	if len(d.ex) > 0 {
		return d.batch(program, strings.Join(append([]string{"record start"}, args...), " "), "run", "save "+file)
	}
	program.argv = slices.Concat([]string{d.path, "record", "-o", file}, args, program.argv)
	return program
}

// examine finds out how this hdb does what it does: not by its words, but by what a
// call costs.
func (b *bench) examine() error {
	d := b.hdb
	cond := work{argv: []string{b.programs["microcond"], "50"}}
	c, err := d.batch(cond, never, "run").run(b.home, b.limit)
	if err != nil {
		return err
	}
	ns, err := printed(c.out, "pair_ns")
	if err != nil {
		return err
	}
	d.condition = plane{name: "conditions are decided", call: time.Duration(ns)}

	const pairs = 500
	micro := work{argv: []string{b.programs["micro"], "5", "1", fmt.Sprint(pairs)}}
	c, err = d.batch(micro, "record start", "run", "record status").run(b.home, b.limit)
	if err != nil {
		return err
	}
	us, err := printed(c.out, "wall_us")
	if err != nil {
		return err
	}
	d.recording = plane{"calls are recorded", time.Duration(us * 1000 / pairs), ""}
	for line := range strings.Lines(c.out) {
		if strings.HasPrefix(line, "recording") {
			d.recording.says = strings.TrimSpace(line)
			break
		}
	}
	return nil
}
