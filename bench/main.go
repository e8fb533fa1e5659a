// Command bench compares hdb with gdb on this machine: it runs the two in
// turn, prints medians and their ratio, and judges nothing.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"hdb/testprogs"
)

// measure is one comparison. Each round runs both command lines once.
type measure struct {
	what     string
	unit     time.Duration // that the medians are shown in
	hdb, gdb []string      // arguments
	// inside reads the result from what the program printed; nil takes the
	// time from the start of the command to its end.
	inside *regexp.Regexp
}

var median = regexp.MustCompile(`median (\d+)`)

func main() {
	rounds := flag.Int("n", 11, "rounds of each comparison")
	hdb := flag.String("hdb", "./hdb", "hdb `program`")
	flag.Parse()
	if err := run(*hdb, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(hdb string, rounds int) error {
	hdb, err := filepath.Abs(hdb)
	if err != nil {
		return err
	}
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		return fmt.Errorf("%w (apt-get install gdb)", err)
	}
	home, err := os.MkdirTemp("", "hdb-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	all, err := measures()
	if err != nil {
		return err
	}
	fmt.Printf("%-48s %12s %12s %8s\n", fmt.Sprintf("median of %d", rounds), "hdb", "gdb", "hdb/gdb")
	for _, m := range all {
		h, g, err := m.interleaved(rounds, hdb, gdb, home)
		if err != nil {
			return fmt.Errorf("%s: %w", m.what, err)
		}
		fmt.Printf("%-48s %12s %12s %8.2f\n", m.what, m.show(h), m.show(g), float64(h)/float64(g))
	}
	return nil
}

func measures() ([]measure, error) {
	small, err := testprogs.Program("basic")
	if err != nil {
		return nil, err
	}
	stops, err := testprogs.Program("stops")
	if err != nil {
		return nil, err
	}
	python, err := filepath.EvalSymlinks("/usr/bin/python3")
	if err != nil {
		return nil, fmt.Errorf("%w (apt-get install python3-dbg)", err)
	}
	batch := func(program []string, commands ...string) []string {
		args := []string{"-batch", "-nx"}
		for _, c := range commands {
			args = append(args, "-ex", c)
		}
		return append(append(args, "--args"), program...)
	}
	toMain := func(program ...string) []string { return batch(program, "break main", "run") }
	counted := batch([]string{stops}, "break target", "ignore 1 1000000", "run")
	calls := []string{stops, "malloc"}
	return []measure{
		{"command to stopped at main, small C program", time.Millisecond, toMain(small), toMain(small), nil},
		{"command to stopped at main, python3", time.Millisecond, toMain(python, "-c", "1"), toMain(python, "-c", "1"), nil},
		{"one breakpoint stop and resume (ignored)", time.Microsecond, counted, counted, median},
		{"one malloc that a condition passes over", time.Microsecond,
			batch(calls, "break malloc if size >= 1GiB", "run"),
			batch(calls, "break main", "run", "break *malloc if $rdi >= 1073741824", "continue"), median},
	}, nil
}

// interleaved runs both in turn and returns the two medians. A first round
// that only warms the page cache is not counted.
func (m measure) interleaved(rounds int, hdb, gdb, home string) (h, g time.Duration, err error) {
	var hs, gs []time.Duration
	for i := range rounds + 1 {
		h, err := m.once(hdb, m.hdb, home)
		if err != nil {
			return 0, 0, err
		}
		g, err := m.once(gdb, m.gdb, home)
		if err != nil {
			return 0, 0, err
		}
		if i > 0 {
			hs, gs = append(hs, h), append(gs, g)
		}
	}
	slices.Sort(hs)
	slices.Sort(gs)
	return hs[len(hs)/2], gs[len(gs)/2], nil
}

func (m measure) once(debugger string, args []string, home string) (time.Duration, error) {
	cmd := exec.Command(debugger, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=dumb", "LC_ALL=C.UTF-8", "SHELL=/bin/sh"}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	start := time.Now()
	err := cmd.Run()
	took := time.Since(start)
	if err != nil {
		return 0, fmt.Errorf("%v: %w\n%s", cmd, err, out.String())
	}
	if m.inside == nil {
		if !bytes.Contains(out.Bytes(), []byte("main")) {
			return 0, fmt.Errorf("%v did not stop at main:\n%s", cmd, out.String())
		}
		return took, nil
	}
	found := m.inside.FindSubmatch(out.Bytes())
	if found == nil {
		return 0, fmt.Errorf("%v: the program did not print its result:\n%s", cmd, out.String())
	}
	ns, err := strconv.ParseInt(string(found[1]), 10, 64)
	return time.Duration(ns), err
}

func (m measure) show(d time.Duration) string {
	unit := map[time.Duration]string{time.Millisecond: "ms", time.Microsecond: "us"}[m.unit]
	return fmt.Sprintf("%.1f %s", float64(d)/float64(m.unit), unit)
}
