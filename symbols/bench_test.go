package symbols_test

import (
	"math/rand"
	"os"
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
)

// large is a program with about 10 MB of DWARF that distributions ship.
const large = "/usr/bin/python3.11d"

func openLarge(b *testing.B) *symbols.Object {
	if _, err := os.Stat(large); err != nil {
		b.Fatalf("%v; install the Debian package python3.11-dbg", err)
	}
	o, err := symbols.Open(large, symbols.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { o.Close() })
	return o
}

// codeAddresses picks n addresses of the executable segment.

func codeAddresses(o *symbols.Object, n int) []addr.File {
	var text symbols.Segment
	for _, s := range o.File.Segments() {
		if s.Exec {
			text = s
		}
	}
	r := rand.New(rand.NewSource(1))
	list := make([]addr.File, n)
	for i := range list {
		list[i] = text.Addr + addr.File(r.Uint64()%text.Memsz)
	}
	return list
}

func BenchmarkOpen(b *testing.B) {
	for b.Loop() {
		openLarge(b)
	}
}

func BenchmarkFirstLookup(b *testing.B) {
	for b.Loop() {
		o := openLarge(b)
		o.Lookup(codeAddresses(o, 1)[0])
	}
}

func BenchmarkFirstFunction(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if o := openLarge(b); len(o.FindFunctions("main")) != 1 {
			b.Fatal("main not found once")
		}
	}
}

func Benchmark10000FirstLookups(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		o := openLarge(b)
		for _, a := range codeAddresses(o, 10000) {
			o.Lookup(a)
		}
	}
}

func BenchmarkLookupWarm(b *testing.B) {
	o := openLarge(b)
	list := codeAddresses(o, 10000)
	for _, a := range list {
		o.Lookup(a)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		o.Lookup(list[i%len(list)])
		i++
	}
}

func BenchmarkLookupInto(b *testing.B) {
	o := openLarge(b)
	list := codeAddresses(o, 10000)
	for _, a := range list {
		o.Lookup(a)
	}
	b.ReportAllocs()
	var frames []symbols.Frame
	i := 0
	for b.Loop() {
		frames = o.LookupInto(frames[:0], list[i%len(list)])
		i++
	}
}
