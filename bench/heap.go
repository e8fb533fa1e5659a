package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// heapRows measures the graph of a heap that is a random tree against LeakSanitizer's check of the
// same heap: the time of each, and the memory of the process that builds the graph, its table of
// blocks included. LeakSanitizer works in the program, with what its allocator keeps anyway.
func (b *bench) heapRows() error {
	blocks, goals := 1_000_000, [2]*goal{}
	if b.full {
		blocks, goals = 10_000_000, [2]*goal{{Limit: 3}, {Limit: 500}}
	}
	what := fmt.Sprintf("tree of %d M blocks", blocks/1_000_000)
	if !b.wanted("heap " + what) {
		return nil
	}
	b.progress("heap " + what)
	checked, plain, graphed, err := b.treePrograms()
	if err != nil {
		return fmt.Errorf("heap: %w", err)
	}
	var lost [2]float64
	check := work{argv: []string{checked, strconv.Itoa(blocks)}, env: []string{"LSAN_OPTIONS=max_leaks=1"}}
	graph := work{argv: []string{graphed, "-retained", plain, strconv.Itoa(blocks), filepath.Join(b.out, "blocks")}}
	attach := work{argv: []string{graphed, "-hdb", b.hdb.path, plain, strconv.Itoa(blocks), "/dev/null"}}
	var memory, retained, retainedMemory, whole, wholeMemory series
	r := interleave(b.rounds, []variant{
		{"LeakSanitizer", func() (sample, error) {
			c, err := check.run(b.home, b.limit)
			if err != nil && !strings.Contains(c.out, "check_s") {
				return sample{}, err
			}
			_, rest, _ := strings.Cut(c.out, "byte(s) leaked in ")
			_, _ = fmt.Sscan(rest, &lost[0])
			s, err := printed(c.out, "check_s")
			return sample{own: s}, err
		}},
		{"hdb", func() (sample, error) {
			c, err := graph.run(b.home, b.limit)
			if err != nil {
				return sample{}, err
			}
			s, err1 := printed(c.out, "build_s")
			kb, err2 := printed(c.out, "more_kb")
			all, err3 := printed(c.out, "retained_s")
			allKB, err4 := printed(c.out, "retained_kb")
			direct, err5 := printed(c.out, "definitely lost:")
			indirect, err6 := printed(c.out, "indirectly lost:")
			lost[1] = direct + indirect
			memory, retained, retainedMemory = append(memory, kb/1000), append(retained, all), append(retainedMemory, allKB/1000)
			return sample{own: s}, errors.Join(err1, err2, err3, err4, err5, err6)
		}},
		{"hdb leaks", func() (sample, error) {
			c, err := attach.run(b.home, b.limit)
			if err != nil {
				return sample{}, err
			}
			s, err1 := printed(c.out, "leaks_s")
			cpu, err2 := printed(c.out, "leaks_cpu_s")
			kb, err3 := printed(c.out, "leaks_kb")
			whole, wholeMemory = append(whole, cpu), append(wholeMemory, kb/1000)
			return sample{own: s}, errors.Join(err1, err2, err3)
		}},
	})
	b.failed("heap", r)
	attached := r.series("hdb leaks", own)
	peer, ours := r.series("LeakSanitizer", own), r.series("hdb", own)
	if len(peer) > 0 && len(ours) > 0 && lost[0] != lost[1] {
		b.errors = append(b.errors, fmt.Errorf("heap: LeakSanitizer finds %v blocks lost, hdb %v", lost[0], lost[1]))
	}
	b.rows = append(b.rows,
		row{Group: "heap", What: what, Peer: quantity{"LSan", "s", peer}, HDB: quantity{"", "s", ours}, Figure: quantity{"", "s", ours}, Goal: goals[0],
			Note: remarks(r.why("hdb"), r.why("LeakSanitizer"))},
		row{Group: "heap", What: "attach and leaks", Peer: quantity{"LSan", "s", peer}, HDB: quantity{"", "s", attached}, Figure: quantity{"", "s", attached}, Goal: goals[0], Note: remarks(r.why("hdb leaks"))},
		row{Group: "heap", What: "its CPU time", HDB: quantity{"", "s", whole}, Figure: quantity{"", "s", whole}},
		row{Group: "heap", What: "its memory", HDB: quantity{"", "MB", wholeMemory}, Figure: quantity{"", "MB", wholeMemory}, Goal: goals[1]},
		row{Group: "heap", What: "memory of the graph", HDB: quantity{"", "MB", memory}, Figure: quantity{"", "MB", memory}, Goal: goals[1]},
		row{Group: "heap", What: "retained sizes of all", HDB: quantity{"", "s", retained}, Figure: quantity{"", "s", retained}},
		row{Group: "heap", What: "their memory", HDB: quantity{"", "MB", retainedMemory}, Figure: quantity{"", "MB", retainedMemory}})
	return nil
}

// treePrograms builds the program in both forms, and what asks about it.
func (b *bench) treePrograms() (checked, plain, graph string, err error) {
	source := filepath.Join(b.sources, "tree.c")
	checked, plain, graph = filepath.Join(b.out, "tree-lsan"), filepath.Join(b.out, "tree"), filepath.Join(b.out, "graph")
	return checked, plain, graph, errors.Join(command("gcc", "-O2", "-o", plain, source),
		command("gcc", "-O2", "-DLEAK", "-fsanitize=leak", "-o", checked, source),
		command("go", "build", "-o", graph, "./bench/graph"))
}
