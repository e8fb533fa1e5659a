package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Real programs at work, recorded with stacks by hdb and by heaptrack: what
// that costs on the whole machine, and how large the recordings are.

type program struct {
	name string
	work
	allocs, frees float64 // calls, as a library that counts them found
}

func (p program) events() float64 { return p.allocs + p.frees }

// realNames are the names of the real programs.
var realNames = [...]string{"cc1plus", "sqlite3", "xmllint", "python3", "git"}

func (b *bench) realPrograms() ([]program, error) {
	in, err := inputs(b.cache, b.sources)
	if err != nil {
		return nil, err
	}
	out, err := exec.Command("g++", "-print-prog-name=cc1plus").Output()
	if err != nil {
		return nil, fmt.Errorf("g++: %w (apt-get install g++)", err)
	}
	all := []program{
		{name: realNames[0], work: work{argv: []string{strings.TrimSpace(string(out)), "-quiet", "-fpreprocessed", "work.ii", "-std=c++17", "-o", "/dev/null"}}},
		{name: realNames[1], work: work{argv: []string{"sqlite3", "-batch", "-bail", ":memory:", ".read work.sql"}}},
		{name: realNames[2], work: work{argv: []string{"xmllint", "--xpath", "count(//item[@n > 500]/name[contains(., '7')]) + sum(//price)", "work.xml"}}},
		{name: realNames[3], work: work{argv: []string{"/usr/bin/python3", "-S", "-B", "work.py"}, env: []string{"PYTHONMALLOC=malloc", "PYTHONHASHSEED=0"}}},
		{name: realNames[4], work: work{argv: []string{"git", "-C", "git", "--no-pager", "log", "-p", "--stat", "--no-color"}, env: []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_PAGER=cat"}}},
	}
	for i := range all {
		p := &all[i]
		p.dir, p.mute = in, true
		// Debuggers are given the file, not a word to look up on the path.
		if p.argv[0], err = exec.LookPath(p.argv[0]); err != nil {
			return nil, fmt.Errorf("%w (scripts/need bench installs it)", err)
		}
	}
	return all, nil
}

// count runs the program once with a library that counts its calls. That also
// brings its files into memory.
func (b *bench) count(p *program) error {
	file := filepath.Join(b.out, "count")
	w := p.work
	w.env = append([]string{"LD_PRELOAD=" + b.programs["microcount"], "MICROCOUNT=" + file}, w.env...)
	if _, err := w.run(b.home, b.limit); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if p.allocs, err = printed(string(text), "allocs"); err != nil {
		return err
	}
	p.frees, err = printed(string(text), "frees")
	return err
}

// programRows measures one group of rows for time and one for size.
func (b *bench) programRows() error {
	wanted := func(name string) bool { return b.wanted("programs "+name) || b.wanted("size "+name) }
	if !slices.ContainsFunc(realNames[:], wanted) {
		return nil // what the programs work on takes a while to make
	}
	all, err := b.realPrograms()
	if err != nil {
		return err
	}
	var times, raws, sizes []row
	for _, p := range all {
		if !wanted(p.name) {
			continue
		}
		b.progress(p.name)
		if err := b.count(&p); err != nil {
			return err
		}
		t, raw, s := b.program(p)
		times, raws, sizes = append(times, t), append(raws, raw...), append(sizes, s)
	}
	times = append(times, medianOf(times, len(all), &goal{Limit: 0.25}))
	sizes = append(sizes, medianOf(sizes, len(all), &goal{Limit: 1.5}))
	b.rows = append(append(append(b.rows, times...), raws...), sizes...)
	return nil
}

func (b *bench) program(p program) (times row, raws []row, sizes row) {
	var last captured
	variants := []variant{
		{"native", func() (sample, error) { return b.measure(p.work) }},
		{"heaptrack", func() (sample, error) { return b.heaptrack(p.work, false) }},
	}
	if b.full {
		variants = append(variants, variant{"raw", func() (sample, error) { return b.heaptrack(p.work, true) }})
	}
	plain := b.tooLong(p.events())
	if plain == "" {
		variants = append(variants, variant{"hdb", func() (s sample, err error) {
			s, last, err = b.recorded(p.work)
			return s, err
		}})
	}
	r := interleave(b.rounds, variants)
	b.failed(p.name, r)

	native, peer, ours := r.series("native", cpu), r.series("heaptrack", cpu), r.series("hdb", cpu)
	events := p.events()
	times = row{
		Group: "programs", What: p.name,
		Native: quantity{"", "s", native}, Peer: quantity{"heaptrack", "s", peer}, HDB: quantity{"", "s", ours},
		Figure: quantity{"", "", over(minus(ours, native), minus(peer, native))},
		Note:   remarks(perEvent(events, minus(peer, native), minus(ours, native)), last.missing(events), plain, b.hdb.recording.remark(), r.why("hdb")),
	}
	if raw := r.series("raw", cpu); len(raw) > 0 {
		raws = []row{{
			Group: "programs", What: p.name + ", not interpreted",
			Native: quantity{"", "s", native}, Peer: quantity{"heaptrack --raw", "s", raw}, HDB: quantity{"", "s", ours},
			Figure: quantity{"", "", over(minus(ours, native), minus(raw, native))},
			Note:   perEvent(events, minus(raw, native), minus(ours, native)),
		}}
	}
	sizes = row{
		Group: "size", What: p.name,
		Peer: quantity{"heaptrack", "B", r.series("heaptrack", written).scale(1 / events)},
		HDB:  quantity{"", "B", perRecorded(r, last)},
		Note: remarks(last.remark(events), plain, b.hdb.recording.remark(), r.why("hdb")),
	}
	sizes.Figure = sizes.HDB
	return times, raws, sizes
}

// perEvent is the CPU time that a call of an allocator costs more, in ns.
func perEvent(events float64, peer, ours series) string {
	s := fmt.Sprintf("%.2f M calls, each +%s ns", events/1e6, digits(peer.median()/events*1e9))
	if len(ours) > 0 {
		s += fmt.Sprintf(", hdb +%s", digits(ours.median()/events*1e9))
	}
	return s
}

func perRecorded(r result, c captured) series {
	if c.totals.Events == 0 {
		return nil
	}
	return r.series("hdb", written).scale(1 / float64(c.totals.Events))
}

// medianOf is the row of the median figure of that many rows: the figure of the row in
// the middle as the table shows them, or the mean of the two that are. (The median of
// each round's middle is another: of three rows that vary around one value below two
// that lie higher, a round's middle is the highest.)
func medianOf(rows []row, of int, g *goal) row {
	m := row{Group: rows[0].Group, What: "median of the programs", Goal: g}
	m.Figure.Unit = rows[0].Figure.Unit
	var all []series
	for _, r := range rows {
		if len(r.Figure.Series) > 0 {
			all = append(all, r.Figure.Series)
		}
	}
	if n := len(all); n > 0 {
		slices.SortFunc(all, func(a, b series) int { return cmp.Compare(a.median(), b.median()) })
		m.Figure.Series = mean(all[(n-1)/2], all[n/2])
	}
	if m.Partial = len(all) < of; m.Partial {
		m.Note = fmt.Sprintf("%d of %d measured", len(all), of)
	}
	return m
}

// measure runs the work as it is.
func (b *bench) measure(w work) (sample, error) {
	c, err := w.run(b.home, b.limit)
	return sample{cpu: c.cpu.Seconds(), wall: c.wall.Seconds()}, err
}

// heaptrack runs the work under heaptrack. Raw leaves out the process that
// interprets what the program sends.
func (b *bench) heaptrack(w work, raw bool) (sample, error) {
	file, suffix := filepath.Join(b.out, "heaptrack"), ".zst"
	argv := []string{"heaptrack"}
	if raw {
		argv, suffix = append(argv, "--raw"), ".raw.zst"
	}
	w.argv = append(append(argv, "-o", file), w.argv...)
	c, err := w.run(b.home, b.limit)
	if err != nil {
		return sample{}, err
	}
	n, err := size(file + suffix)
	if err != nil {
		return sample{}, err
	}
	s := sample{cpu: c.cpu.Seconds(), wall: c.wall.Seconds(), bytes: float64(n)}
	if !w.mute {
		s.own, err = printed(c.out, "cpu_us")
	}
	return s, err
}

// recorded runs the work under hdb, which writes a capture. args are more of hdb record.
func (b *bench) recorded(w work, args ...string) (sample, captured, error) {
	file := filepath.Join(b.out, "bench.hdb")
	if err := os.RemoveAll(file); err != nil {
		return sample{}, captured{}, err
	}
	c, err := b.hdb.record(w, file, args...).run(b.home, b.limit)
	if err != nil {
		return sample{}, captured{}, err
	}
	got, err := readCapture(file)
	if err != nil {
		return sample{}, captured{}, err
	}
	s := sample{cpu: c.cpu.Seconds(), wall: c.wall.Seconds(), bytes: float64(got.bytes)}
	if !w.mute {
		s.own, err = printed(c.out, "cpu_us")
	}
	return s, got, err
}
