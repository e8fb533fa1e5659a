package glibc

import (
	"fmt"
	"path/filepath"
	"strconv"
	"testing"

	"hdb/heap/resident"
	"hdb/internal/addr"
)

// TestNamespaces has several copies of the C library, whose main arenas are in mappings, one next to the other.
func TestNamespaces(t *testing.T) {
	programs := map[string]string{"here": compiled(t, "namespaces.c")}
	for version, dir := range older(t) {
		programs[version] = linkedWith(t, dir, "namespaces.c", "-Wl,--push-state,--no-as-needed,"+filepath.Join(dir, "libdl.so.2")+",--pop-state")
	}
	for version, program := range programs {
		for copies := range 4 {
			t.Run(fmt.Sprint(version, "/", copies), func(t *testing.T) { namespaces(t, program, copies) })
			t.Run(fmt.Sprint(version, "/", copies, "/gone"), func(t *testing.T) { namespaces(t, program, copies, "gone") })
		}
	}
}

// namespaces compares the walk of a program that has loaded copies of the C library.
func namespaces(t *testing.T, program string, copies int, args ...string) {
	src, lines := stopped(t, "threads", program, append([]string{strconv.Itoa(copies)}, args...)...)
	src.Threads = []resident.Thread{{TID: 1}, {TID: 2}}
	if _, err := fmt.Sscanf(lines[len(lines)-1], "threads 0x%x 0x%x", &src.Threads[0].FS, &src.Threads[1].FS); err != nil {
		t.Fatal(err)
	}
	h, err := Open(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.libs) != copies+1 {
		t.Fatalf("%d libraries, want %d", len(h.libs), copies+1)
	}
	live, libraries := map[addr.Run]uint64{}, map[addr.Run]int{}
	for b := range h.Blocks() {
		x, _, _ := h.Header(b.Addr)
		live[b.Addr], libraries[b.Addr] = b.Size, -1
		if x.Arena >= 0 {
			libraries[b.Addr] = h.Arenas()[x.Arena].Library
		}
	}
	library := map[int]int{} // by copy, as the program numbers them
	for _, line := range lines[:len(lines)-1] {
		var k int
		var at addr.Run
		var size uint64
		if _, err := fmt.Sscanf(line, "block %d 0x%x %d", &k, &at, &size); err != nil {
			t.Fatal(line, err)
		}
		if live[at] != size {
			t.Errorf("block %v of copy %d has %d bytes, want %d", at, k, live[at], size)
		}
		if of, known := library[k]; libraries[at] >= 0 && !known {
			library[k] = libraries[at]
		} else if libraries[at] >= 0 && of != libraries[at] {
			t.Errorf("block %v of copy %d is in library %d, others in %d", at, k, libraries[at], of)
		}
		delete(live, at)
	}
	for at, size := range live {
		if libraries[at] > 0 { // the dynamic linker allocates from the program's
			t.Errorf("block %v of %d bytes of library %d is not live", at, size, libraries[at])
		}
	}
	for _, a := range h.Arenas() {
		var system uint64
		for _, r := range a.Heaps {
			system += r.Len()
		}
		if a.Library > 0 && system != a.SystemMem {
			t.Errorf("arena %d has %d bytes in %v, want %d", a.Index, system, a.Heaps, a.SystemMem)
		}
	}
	for _, d := range h.Damage() {
		t.Error(d)
	}
}

// TestNamespacesDamage has damage in copies of the C library named by the arena that it is in, or none if that is not known.
func TestNamespacesDamage(t *testing.T) {
	src, lines := stopped(t, "threads", compiled(t, "namespaces.c"), "3", "break")
	h, err := Open(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	library, broken := map[int]int{}, map[addr.Run]int{} // by copy, as the program numbers them; the copy of a chunk
	for _, line := range lines {
		var k int
		var at addr.Run
		var size uint64
		if _, err := fmt.Sscanf(line, "broken %d 0x%x", &k, &at); err == nil {
			broken[at] = k
		} else if _, err := fmt.Sscanf(line, "block %d 0x%x %d", &k, &at, &size); err == nil {
			if x, _, ok := h.Header(at); ok && x.Arena >= 0 && !h.Arenas()[x.Arena].Main {
				library[k] = h.Arenas()[x.Arena].Library
			}
		}
	}
	if len(library) < 3 || len(broken) < 30 {
		t.Fatalf("blocks of copies %v, %d broken chunks", library, len(broken))
	}
	named := map[int]bool{}
	for _, d := range h.Damage() {
		k, ok := broken[d.Chunk]
		if !ok || d.Arena < 0 {
			continue
		}
		a := h.Arenas()[d.Arena]
		named[k] = true
		if a.Library != library[k] || !a.Main {
			t.Errorf("chunk %v of copy %d is in arena %d, of library %d, want %d", d.Chunk, k, d.Arena, a.Library, library[k])
		}
	}
	if len(named) != 3 {
		t.Errorf("damage is named in copies %v, want 1 to 3", named)
	}
}
