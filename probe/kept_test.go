package probe

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"

	"hdb/inferior"
	"hdb/internal/addr"
	"hdb/internal/diskcache"
	"hdb/symbols"
	"hdb/unwind"
)

// keptSource is a library at a bias, and how often its CFI was asked for.
func keptSource(t testing.TB, path string, bias addr.Bias, identity string, asked *int) source {
	t.Helper()
	o, err := symbols.Open(path, symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	table, err := o.CFI()
	if err != nil {
		t.Fatal(err)
	}
	var text symbols.Segment
	for _, s := range o.File.Segments() {
		if s.Exec {
			text = s
		}
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	low := text.Addr.Run(bias)
	return source{
		module: inferior.Module{Name: path, Path: path, Bias: bias, Low: low}, low: low, high: low + addr.Run(text.Memsz), identity: identity,
		code: io.NewSectionReader(shifted{f, int64(low) - int64(text.Off)}, 0, 1<<62),
		cfi: func() *unwind.Table {
			*asked++
			return table
		},
	}
}

// shifted reads a file at run addresses.
type shifted struct {
	f  io.ReaderAt
	by int64
}

func (s shifted) ReadAt(b []byte, at int64) (int, error) { return s.f.ReadAt(b, at-s.by) }

// TestKeptTables: a process whose modules were seen before, in whole or in part, gets
// the same tables and rules in the same places.
func TestKeptTables(t *testing.T) {
	const at = addr.Run(0x600000000000)
	paths := []string{"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libm.so.6"}
	dir := t.TempDir()
	asked := 0
	fill := func(identities [3]string, d *diskcache.Dir) *tables {
		tb, err := newTables(newShared(t), at)
		if err != nil {
			t.Fatal(err)
		}
		tb.cache = d
		asked = 0
		var list []source
		for i, p := range paths {
			list = append(list, keptSource(t, p, addr.Bias(0x7f0000000000+uint64(i)<<32), identities[i], &asked))
		}
		tb.add(list[:1], func(err error) { t.Error(err) })
		tb.add(list[1:], func(err error) { t.Error(err) })
		again := keptSource(t, paths[0], 0x7e0000000000, identities[0], new(int))
		again.cfi = list[0].cfi
		tb.add([]source{again}, func(err error) { t.Error(err) })
		if _, err := tb.publish(true); err != nil {
			t.Fatal(err)
		}
		return tb
	}
	want := fill([3]string{}, nil)
	kept := diskcache.Open(dir, "test")
	for _, c := range []struct {
		what       string
		identities [3]string
		spoil      func()
		asked      int
	}{
		{"nothing is kept", [3]string{"a", "b", "c"}, nil, 3},
		{"all are", [3]string{"a", "b", "c"}, nil, 0},
		{"one has changed", [3]string{"a", "B", "c"}, nil, 1},
		{"one is not known", [3]string{"a", "", "c"}, nil, 1},
		{"one is nonsense", [3]string{"a", "b", "c"}, func() {
			j := (&tables{}).job(keptSource(t, paths[2], 0, "c", new(int)))
			kept.Put(tableKind, j.name(), []byte("nonsense"))
		}, 1},
		{"it was mended", [3]string{"a", "b", "c"}, nil, 0},
	} {
		if c.spoil != nil {
			c.spoil()
		}
		got := fill(c.identities, kept)
		if asked != c.asked {
			t.Errorf("%s: CFI was read %d times, want %d", c.what, asked, c.asked)
		}
		if got.end != want.end || !bytes.Equal(got.shared.file[fileRules:fileTables+(got.end-fileTables)], want.shared.file[fileRules:fileTables+(want.end-fileTables)]) {
			t.Errorf("%s: rules, modules or tables differ", c.what)
		}
		if fmt.Sprint(got.rules.List()) != fmt.Sprint(want.rules.List()) {
			t.Errorf("%s: other rules", c.what)
		}
	}
}

// BenchmarkTables is what the modules of a process cost at injection.
func BenchmarkTables(b *testing.B) {
	paths := []string{"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/x86_64-linux-gnu/libm.so.6"}
	var list []source
	for i, p := range paths {
		list = append(list, keptSource(b, p, addr.Bias(0x7f0000000000+uint64(i)<<32), p, new(int)))
	}
	for _, c := range []struct {
		name string
		d    *diskcache.Dir
	}{{"compiled", nil}, {"kept", diskcache.Open(b.TempDir(), "test")}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				tb, err := newTables(newShared(b), 0x600000000000)
				if err != nil {
					b.Fatal(err)
				}
				tb.cache = c.d
				tb.add(list, func(err error) { b.Error(err) })
				tb.shared.close()
			}
		})
	}
}
