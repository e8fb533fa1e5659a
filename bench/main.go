// Command bench compares hdb with its peers, gdb and heaptrack, on this
// machine: each round runs the program alone, in the peer and in hdb, one
// after the other, and what is printed are medians and ratios of a whole run.
// A goal that is missed is no failure; the exit code is 1 when something
// could not be run.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"

	"hdb/testprogs"
)

// bench is one run of the benchmark.
type bench struct {
	hdb      *debugger
	only     *regexp.Regexp
	rounds   int
	full     bool
	pairs    int           // of the small programs, 0 for the usual number
	limit    time.Duration // of a single run
	cache    string        // folder of generated inputs
	sources  string        // folder testdata of this package
	out      string        // temporary folder for what is written
	home     string        // empty home of all programs
	programs map[string]string

	rows   []row
	errors []error
}

// titles are those of the groups of rows, in the order of the table.
var titles = map[string]string{
	"condition": "A condition on the size that never holds, ns a malloc and free; figure: what a call costs:",
	"asked":     "What is asked of each call, ns a malloc and free; figure: ns a call, of traps and dprintf an event:",
	"record":    "Recording with stacks, CPU time of the program alone, ns a malloc and free; figure: what hdb adds / what the peer adds:",
	"programs":  "Recording with stacks, CPU time of all processes; figure: what hdb adds / what the peer adds:",
	"golang":    "Allocations of Go, 56 bytes with 8 frames, ns of CPU each, the least of all rounds; figure: what hdb adds:",
	"python":    "A script in Python, recorded with stacks, CPU time of all processes:",
	"size":      "What is written, bytes an event (heaptrack stores no address, thread or time of an event, and no stack of a free):",
	"launch":    "From the command to main:",
	"symbolize": "Naming addresses, inlined calls included, whole process; figure: hdb / peer, or what hdb takes where a unit stands:",
	"captures":  "Questions to captures, whole process; figure: hdb / peer, or what hdb takes where a unit stands:",
	"heap":      "Who points where in a heap, from its table of blocks, and all of leaks of an attached process, s; LeakSanitizer's check of the same:",
	"gdb":       "Where a person waits; figure: hdb / gdb:",
}

func main() {
	hdb := flag.String("hdb", "./hdb", "hdb `program`")
	runs := flag.Int("runs", 0, "rounds (3, with -full 9)")
	full := flag.Bool("full", false, "the whole table, in about a quarter of an hour; else a small one in about three minutes")
	only := flag.String("only", "", "`regexp` of groups and rows, as in 'record depth 5$|gdb'")
	pairs := flag.Int("pairs", 0, "pairs of malloc and free in 'record' (2 million, with -full 5)")
	file := flag.String("json", "", "write the table with all samples to `file`")
	set := flag.String("ex", "", "`command` for hdb before all others, as in 'set probe off'")
	flag.Parse()
	b := &bench{hdb: &debugger{path: *hdb}, full: *full, pairs: *pairs, limit: 2 * time.Minute}
	b.rounds = cmp.Or(*runs, 3)
	if *full {
		b.rounds = cmp.Or(*runs, 9)
	}
	if *set != "" {
		b.hdb.ex = []string{*set}
	}
	err := b.run(*only, *file)
	for _, e := range b.errors {
		fmt.Fprintln(os.Stderr, "bench:", e)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if err != nil || len(b.errors) > 0 {
		os.Exit(1)
	}
}

func (b *bench) run(only, file string) error {
	var err error
	if b.only, err = regexp.Compile(only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	if err := b.prepare(); err != nil {
		return err
	}
	defer os.RemoveAll(b.out)
	if err := b.examine(); err != nil {
		return err
	}
	m := describe(b)
	m.print(os.Stdout)
	for _, rows := range []func() error{b.conditionRows, b.askedRows, b.recordRows, b.programRows, b.pythonRows, b.golangRows, b.launchRows, b.symbolizeRows, b.captureRows, b.heapRows, b.gdbRows} {
		if err := rows(); err != nil {
			return err
		}
	}
	if len(b.rows) == 0 {
		return errors.New("-only matches nothing")
	}
	b.progress("")
	fmt.Println()
	printTable(os.Stdout, b.rows, titles)
	fmt.Println()
	fmt.Printf("%s; load %s after\n", count(b.rows), load())
	if file != "" {
		return m.save(file, b.rows)
	}
	return nil
}

// prepare finds the tools, builds the programs and makes the folders.
func (b *bench) prepare() error {
	var err error
	if b.hdb.path, err = filepath.Abs(b.hdb.path); err != nil {
		return err
	}
	for _, tool := range []string{"gdb", "heaptrack", b.hdb.path} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%w (make build, scripts/need bench)", err)
		}
	}
	root, err := testprogs.Root()
	if err != nil {
		return err
	}
	b.cache, b.sources = filepath.Join(root, ".cache", "bench"), filepath.Join(root, "bench", "testdata")
	if err := os.MkdirAll(b.cache, 0o755); err != nil {
		return err
	}
	b.programs = map[string]string{}
	for _, name := range []string{"micro", "microcond", "microcount", "microlibs"} {
		if b.programs[name], err = testprogs.Program(name); err != nil {
			return err
		}
	}
	if b.out, err = os.MkdirTemp(b.cache, "out-"); err != nil {
		return err
	}
	b.home = filepath.Join(b.out, "home")
	if err := os.Mkdir(b.home, 0o755); err != nil {
		return err
	}
	return adopt()
}

// wanted says whether -only asks for the row.
func (b *bench) wanted(row string) bool { return b.only.MatchString(row) }

// part is some rows of a group, and what measures them.
type part struct {
	what string
	run  func(what string) error
}

// group measures the parts that -only asks for.
func (b *bench) group(name string, parts []part) error {
	for _, p := range parts {
		what := name + " " + p.what
		if !b.wanted(what) {
			continue
		}
		b.progress(what)
		if err := p.run(p.what); err != nil {
			return fmt.Errorf("%s: %s: %w", name, p.what, err)
		}
	}
	return nil
}

// progress says on a terminal what is being measured.
func (b *bench) progress(what string) {
	if st, err := os.Stderr.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintf(os.Stderr, "\r\x1b[K%s", what)
	}
}

// failed keeps the errors of what could not be run.
func (b *bench) failed(what string, r result) {
	for name, err := range r.failed {
		b.errors = append(b.errors, fmt.Errorf("%s, %s: %w", what, name, err))
	}
}

// why is a row's remark on a variant that failed.
func (r result) why(name string) string {
	if r.failed[name] == nil {
		return ""
	}
	return name + " failed, see below"
}
