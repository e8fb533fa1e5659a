package symbols

import (
	"bytes"
	"os"
	"testing"
	"time"

	"hdb/internal/diskcache"
	"hdb/symbols/elf"
	"hdb/testprogs"
)

// TestKeptSections: a compressed section is the same from the file and from the disk, where it
// is looked for first. Others are not kept.
func TestKeptSections(t *testing.T) {
	const name = ".debug_info"
	open := func(flags ...string) *elf.File {
		path := testprogs.Build(t, "basic", flags...)
		for end := testprogs.Deadline(t); time.Now().Before(end); time.Sleep(time.Millisecond) {
			st, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			if diskcache.FileID(st) != "" { // it was not written just now
				break
			}
		}
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	plain, packed := open(), open("-gz=zlib")
	want, err := packed.Section(name)
	if err != nil || len(want) == 0 || packed.PackedSize(name) == 0 || plain.PackedSize(name) != 0 {
		t.Fatalf("%d bytes, in the file %d, of the other %d: %v", len(want), packed.PackedSize(name), plain.PackedSize(name), err)
	}
	dir := t.TempDir()
	cache := diskcache.Open(dir, "test")
	kept := func() int {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	get := func(f *elf.File, least uint64) []byte {
		b, err := keptSection(cache, f, name, least)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	get(plain, 0)
	get(packed, packed.PackedSize(name)+1)
	if n := kept(); n != 0 {
		t.Errorf("%d files of sections that are not kept", n)
	}
	if got := get(packed, packed.PackedSize(name)); !bytes.Equal(got, want) || kept() != 1 {
		t.Errorf("first: %d bytes of %d, %d files", len(got), len(want), kept())
	}
	if got := get(packed, 0); !bytes.Equal(got, want) || &got[0] == &want[0] {
		t.Errorf("again: %d bytes of %d, or not from the disk", len(got), len(want))
	}
}
