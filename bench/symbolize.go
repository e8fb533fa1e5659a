package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"hdb/internal/addr"
	"hdb/symbols"
)

// What it takes to name addresses, from an empty cache of the process on.

// symbolizeFile is a large library whose DWARF is compressed, in a file of its own.
const symbolizeFile = "/usr/lib/x86_64-linux-gnu/libpython3*.so.1.0"

// symbolizeRows are about addresses of one library, of a very large one, and of many.
func (b *bench) symbolizeRows() error {
	return b.group("symbolize", []part{
		{"10000 addresses of libpython", b.libraryRows},
		{"first address in 500 MB of DWARF", b.firstRow},
		{"1 million addresses of 20 libraries", b.millionRow},
	})
}

// libraryRows name addresses of one library, inlined calls included.
func (b *bench) libraryRows(what string) error {
	file, err := one(symbolizeFile)
	if err != nil {
		return err
	}
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
				Group: "symbolize", What: what + ", " + m.what,
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

// firstRow names one address of a library with 500 MB of debug information.
func (b *bench) firstRow(what string) error {
	file, err := largeLibrary(b.cache, b.sources)
	if err != nil {
		return err
	}
	at, err := inlinedAddress(file)
	if err != nil {
		return err
	}
	list := filepath.Join(b.out, "first")
	if err := os.WriteFile(list, fmt.Appendf(nil, "%#x\n", uint64(at)), 0o644); err != nil {
		return err
	}
	const peer = "llvm-symbolizer"
	res := interleave(max(5, b.rounds), []variant{
		b.symbolizer(peer, list, peer, "--obj="+file, "-f", "-i"),
		b.symbolizer("hdb", list, b.hdb.path, "symbolize", "-e", file, "-f", "-i", "-C"),
	})
	b.failed("symbolize", res)
	b.rows = append(b.rows, row{
		Group: "symbolize", What: what + ", time",
		Peer: quantity{peer, "ms", res.series(peer, milliWall)}, HDB: quantity{"", "ms", res.series("hdb", milliWall)},
		Figure: quantity{"", "ms", res.series("hdb", milliWall)}, Goal: &goal{Limit: 150},
		Note: remarks(res.why("hdb"), res.why(peer)),
	})
	return nil
}

// inlinedAddress is an address in the middle of a file where code was inlined.
func inlinedAddress(file string) (addr.File, error) {
	obj, err := symbols.Open(file, symbols.Config{})
	if err != nil {
		return 0, err
	}
	defer obj.Close()
	text, err := codeOf(file)
	if err != nil {
		return 0, err
	}
	for at := text.Addr + addr.File(text.Filesz/2); at < text.Addr+addr.File(text.Filesz); at++ {
		if len(obj.Lookup(at)) > 2 {
			return at, nil
		}
	}
	return 0, fmt.Errorf("%s: nothing is inlined", file)
}

// millionRow names a million addresses of many libraries, once, and again in the same
// process: what the second million takes is what an address costs when all is known.
func (b *bench) millionRow(what string) error {
	const count, modules = 1_000_000, 20
	files, err := librariesWithDebug(modules)
	if err != nil {
		return err
	}
	texts := make([]symbols.Segment, len(files))
	for i, f := range files {
		if texts[i], err = codeOf(f); err != nil {
			return err
		}
	}
	r := rand.New(rand.NewPCG(2, 2))
	var in bytes.Buffer
	for range count {
		i := r.IntN(len(files))
		fmt.Fprintf(&in, "%s %#x\n", files[i], uint64(texts[i].Addr)+r.Uint64N(texts[i].Filesz))
	}
	once, twice := filepath.Join(b.out, "million"), filepath.Join(b.out, "millions")
	if err := os.WriteFile(once, in.Bytes(), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(twice, bytes.Repeat(in.Bytes(), 2), 0o644); err != nil {
		return err
	}
	res := interleave(max(5, b.rounds), []variant{
		b.symbolizer("once", once, b.hdb.path, "symbolize", "-f", "-i", "-C"),
		b.symbolizer("twice", twice, b.hdb.path, "symbolize", "-f", "-i", "-C"),
	})
	b.failed("symbolize", res)
	for _, m := range []struct {
		what string
		pick func(sample) float64
	}{{"CPU", milliCPU}, {"time", milliWall}} {
		added := minus(res.series("twice", m.pick), res.series("once", m.pick)).scale(1e6 / count)
		v := row{
			Group: "symbolize", What: what + ", " + m.what, HDB: quantity{"", "ms", res.series("once", m.pick)},
			Figure: quantity{"", "ns", added}, Note: remarks(res.why("once"), res.why("twice"), "figure: an address of the second million"),
		}
		if m.what == "time" {
			v.Goal = &goal{Limit: 1000}
		}
		b.rows = append(b.rows, v)
	}
	return nil
}

// librariesWithDebug are n libraries of the C library and of Python, large ones first,
// that have debug information.
func librariesWithDebug(n int) ([]string, error) {
	var files []string
	for _, pattern := range []string{"/usr/lib/x86_64-linux-gnu/lib[cm].so.6", symbolizeFile, "/usr/lib/python3.*/lib-dynload/*.so"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(length(b), length(a)) })
		for _, f := range found {
			if len(files) == n {
				return files, nil
			}
			if obj, err := symbols.Open(f, symbols.Config{}); err == nil {
				if obj.File.Header().DebugFile != "" {
					files = append(files, f)
				}
				obj.Close()
			}
		}
	}
	if len(files) < n {
		return nil, fmt.Errorf("%d libraries have debug information, %d are needed (scripts/need bench)", len(files), n)
	}
	return files, nil
}

// length is that of a file in bytes, 0 if it cannot be told.
func length(path string) int64 {
	st, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return st.Size()
}

// one is the first file that matches a pattern.
func one(pattern string) (string, error) {
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("no %s (scripts/need bench)", pattern)
	}
	return found[0], nil
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
	segments := obj.File.Segments()
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
