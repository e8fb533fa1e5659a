package inferior

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

// TestGuardHalfWritten: hdb may be killed between any two of the writes that put a patch
// in place of an int3 and take it out. The guard finds the original bytes for each. What the
// program wrote meanwhile stays.
func TestGuardHalfWritten(t *testing.T) {
	orig := []byte{0x55, 0x53, 0x48, 0x83, 0xec}
	jump := []byte{0xe9, 1, 2, 3, 4}
	with := func(first byte, rest []byte) []byte { return append([]byte{first}, rest[1:]...) }
	const at = 64
	for name, c := range map[string]struct {
		memory, want []byte
		trap         bool
	}{
		"before":           {orig, orig, true},
		"int3":             {with(int3, orig), orig, true},
		"int3 before jump": {with(int3, jump), orig, true},
		"jump":             {jump, orig, true},
		"jump, int3 gone":  {jump, orig, false},
		"program's":        {[]byte{int3, 9, 9, 9, 9}, []byte{int3, 9, 9, 9, 9}, true},
		"program's int3":   {with(int3, jump), with(int3, jump), false},
	} {
		t.Run(name, func(t *testing.T) {
			mem, err := os.Create(filepath.Join(t.TempDir(), "mem"))
			if err != nil {
				t.Fatal(err)
			}
			defer mem.Close()
			// Other patches touch it on both sides; of the one behind, the first byte's slot is
			// free already.
			around := []byte{0xaa, 0xab}
			if _, err := mem.WriteAt(append(append(bytes.Clone(around), c.memory...), 0x90, 0xbb), at-2); err != nil {
				t.Fatal(err)
			}
			table := newGuardTable(t)
			set := func(a addr.Run, orig, run byte, trap bool, p *Patch) {
				table.set(&cover{at: a, orig: orig, run: run, trap: trap, patch: p, slot: table.take()})
			}
			set(at+6, 0xcc, 0xbb, false, &Patch{at: at + 5})
			for i := range orig {
				set(at+addr.Run(i), orig[i], jump[i], c.trap && i == 0, &Patch{at: at})
			}
			before := &Patch{at: at - 2}
			set(at-2, 0x11, 0xaa, false, before)
			set(at-1, 0x12, 0xab, false, before)
			table.restoreAll(int(mem.Fd()))
			got := make([]byte, len(orig)+4)
			if _, err := mem.ReadAt(got, at-2); err != nil {
				t.Fatal(err)
			}
			if want := append(append([]byte{0x11, 0x12}, c.want...), 0x90, 0xcc); !bytes.Equal(got, want) {
				t.Errorf("% x, want % x", got, want)
			}
		})
	}
}

// newGuardTable is an empty one.
func newGuardTable(t *testing.T) *guardTable {
	t.Helper()
	fd, err := unix.MemfdCreate("table", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Ftruncate(fd, int64(guardSize)); err != nil {
		t.Fatal(err)
	}
	table, err := mapGuardTable(fd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Munmap(table.mem) })
	return table
}
