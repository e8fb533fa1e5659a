package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"hdb/symbols"
)

// What it takes to name addresses, from an empty cache of the process on.

// symbolizeFile is a large library whose DWARF is compressed, in a file of its own.
const symbolizeFile = "/usr/lib/x86_64-linux-gnu/libpython3*.so.1.0"

// symbolizeRows name 10,000 addresses of a library, inlined calls included.
func (b *bench) symbolizeRows() error {
	if !b.wanted("symbolize") {
		return nil
	}
	b.progress("symbolize")
	found, err := filepath.Glob(symbolizeFile)
	if err != nil || len(found) == 0 {
		return fmt.Errorf("symbolize: no %s (scripts/need bench)", symbolizeFile)
	}
	file := found[0]
	text, err := codeOf(file)
	if err != nil {
		return err
	}
	const count = 10000
	r := rand.New(rand.NewPCG(1, 1))
	var in bytes.Buffer
	for range count {
		fmt.Fprintf(&in, "0x%x\n", uint64(text.Addr)+r.Uint64N(text.Filesz))
	}
	list := filepath.Join(b.out, "addresses")
	if err := os.WriteFile(list, in.Bytes(), 0o644); err != nil {
		return err
	}
	res := interleave(max(5, b.rounds), []variant{
		b.symbolizer("llvm-symbolizer", list, "llvm-symbolizer", "--obj="+file, "-f", "-i"),
		b.symbolizer("addr2line", list, "addr2line", "-e", file, "-f", "-i"),
		b.symbolizer("hdb", list, b.hdb.path, "symbolize", "-e", file, "-f", "-i", "-C"),
	})
	b.failed("symbolize", res)
	for _, peer := range []string{"llvm-symbolizer", "addr2line"} {
		for _, m := range []struct {
			what string
			unit string
			pick func(sample) float64
		}{{"CPU", "ms", milliCPU}, {"time", "ms", milliWall}, {"memory", "MB", written}} {
			v := row{
				Group: "symbolize", What: fmt.Sprintf("%d addresses, %s", count, m.what),
				Peer: quantity{peer, m.unit, res.series(peer, m.pick)}, HDB: quantity{"", m.unit, res.series("hdb", m.pick)},
				Figure: quantity{"", "", over(res.series("hdb", m.pick), res.series(peer, m.pick))},
				Note:   remarks(res.why("hdb"), res.why(peer)),
			}
			if peer == "llvm-symbolizer" && m.what != "CPU" {
				v.Goal = &goal{Limit: 0.5}
			}
			b.rows = append(b.rows, v)
		}
	}
	return nil
}

func milliCPU(s sample) float64  { return s.cpu * 1e3 }
func milliWall(s sample) float64 { return s.wall * 1e3 }

// codeOf is the part of a file that is code.
func codeOf(file string) (symbols.Segment, error) {
	obj, err := symbols.Open(file, symbols.Config{})
	if err != nil {
		return symbols.Segment{}, err
	}
	defer obj.Close()
	segments := obj.Segments()
	i := slices.IndexFunc(segments, func(s symbols.Segment) bool { return s.Exec })
	if i < 0 {
		return symbols.Segment{}, fmt.Errorf("%s has no code", file)
	}
	return segments[i], nil
}

// symbolizer runs a command with a list as its standard input. A sample's bytes are the
// most memory that it had, in MB.
func (b *bench) symbolizer(name, list string, argv ...string) variant {
	return variant{name, func() (sample, error) {
		in, err := os.Open(list)
		if err != nil {
			return sample{}, err
		}
		defer in.Close()
		ctx, cancel := context.WithTimeout(context.Background(), b.limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Stdin = in
		cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + b.home, "LC_ALL=C.UTF-8"}
		began, err := sinceBoot()
		if err != nil {
			return sample{}, err
		}
		if err := cmd.Run(); err != nil {
			return sample{}, fmt.Errorf("%s: %w", name, err)
		}
		ended, err := sinceBoot()
		if err != nil {
			return sample{}, err
		}
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			return sample{}, fmt.Errorf("%s: no resource usage", name)
		}
		cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		return sample{cpu: cpu.Seconds(), wall: float64(ended-began) / 1e9, bytes: float64(usage.Maxrss) / 1e3}, nil
	}}
}
