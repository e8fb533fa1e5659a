package symbols_test

import (
	"bytes"
	"math/rand"
	"os"
	"regexp"
	"testing"

	"hdb/symbols"
	"hdb/testprogs"
)

// useAll asks everything of an object.
func useAll(data []byte) {
	o, err := symbols.OpenReaderAt("foreign", bytes.NewReader(data), int64(len(data)), symbols.Config{DebugDirs: []string{}})
	if err != nil {
		return
	}
	defer o.Close()
	askAll(o)
}

func askAll(o *symbols.Object) {
	o.Info()
	o.File.Segments()
	o.File.Section(".text")
	_, _ = o.CFI()
	for _, name := range []string{"main", "work", "ns::Buffer::grow", "_Z5plaini", "operator()"} {
		o.Symtab.Symbols(name)
		for _, f := range o.FindFunctions(name) {
			o.Lookup(f.Low)
			o.Lines.Block(f.Low)
			o.Lines.Entries(f.Low, f.High)
			o.Symtab.SymbolAt(f.Low)
		}
	}
	o.MatchFunctions(regexp.MustCompile("^m"), toTheEnd)
	o.Lines.Find("inline.c", 9)
	o.Lines.Find("mix.cc", 9)
	o.Lines.Files()
}

// damaged is a file with a few bytes overwritten, now and then cut.
func damaged(r *rand.Rand, good []byte) []byte {
	data := bytes.Clone(good)
	for range 1 + r.Intn(20) {
		data[r.Intn(len(data))] = byte(r.Intn(256))
	}
	if r.Intn(5) == 0 {
		data = data[:r.Intn(len(data))]
	}
	return data
}

// TestCorruptedFiles overwrites bytes of good files at random.
func TestCorruptedFiles(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for _, c := range []string{"gcc -g -O2 inline.c", "gcc -g -O2 -gz=zlib inline.c", "clang++ -g -O2 -gdwarf-5 mix.cc"} {
		good, err := os.ReadFile(build(t, c))
		if err != nil {
			t.Fatal(err)
		}
		for range testprogs.Rounds(15, 40) {
			useAll(damaged(r, good))
		}
	}
}

// FuzzObject is the same for the fuzzer.
func FuzzObject(f *testing.F) {
	for _, c := range []string{"gcc -g -O2 inline.c", "gcc -g -O0 -gdwarf-4 inline.c"} {
		data, err := os.ReadFile(build(f, c))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { useAll(data) })
}
