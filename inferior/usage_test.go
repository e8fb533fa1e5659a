package inferior

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"hdb/internal/addr"

	"golang.org/x/sys/unix"
)

func TestParseSmaps(t *testing.T) {
	const text = `555555554000-555555556000 rw-p 00001000 fe:01 12 /tmp/a: b
Size:                  8 kB
Rss:                   8 kB
Shared_Dirty:          4 kB
Private_Dirty:         4 kB
Swap:                 12 kB
THPeligible:           0
VmFlags: rd wr mr mw me ac sd
7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0 [vdso]
Rss:         99999999999999999999 kB
`
	all, err := parseSmaps([]byte(text))
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	if m := all[0]; m.Path != "/tmp/a: b" || m.Resident != 8<<10 || m.Dirty != 8<<10 || m.Swap != 12<<10 {
		t.Errorf("%+v", m)
	}
	if m := all[1]; m.Path != "[vdso]" || m.Resident != 0 {
		t.Errorf("%+v", m)
	}
	if _, err := parseSmaps([]byte("7ff rw-p\n")); err == nil {
		t.Error("a line without an end is taken")
	}
}

// TestPages asks for pages of the test's own process in both ways. Written ones are there, those
// that were only read are the page of zeros, others are not there; guards (MADV_GUARD_INSTALL), and what
// was written before one, are neither in memory nor in swap.
func TestPages(t *testing.T) {
	const size = 64 * pageSize
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(b)
	unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	b[0], b[pageSize], b[10*pageSize] = 1, 1, 1
	read := b[20*pageSize]
	const guardInstall = 102
	b[31*pageSize] = 1
	if err := unix.Madvise(b[30*pageSize:34*pageSize], guardInstall); err != nil {
		t.Logf("no guards: %v", err)
		unix.Madvise(b[31*pageSize:32*pageSize], unix.MADV_DONTNEED)
	}
	unseenZero := "20+1 true true, "
	if k, err := os.Open("/proc/kpageflags"); err == nil {
		k.Close()
		unseenZero = ""
	}
	base := addr.Run(uintptr(unsafe.Pointer(&b[0])))
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, way := range []struct {
		name string
		ask  func(*os.File, addr.Run, addr.Run, func(PageRun)) error
		want string
	}{
		{"PAGEMAP_SCAN", scanPages, "0+2 true true, 10+1 true true, "},
		{"pagemap", readPagemap, "0+2 true true, 10+1 true true, " + unseenZero},
	} {
		got := ""
		err := way.ask(f, base, base+size, func(r PageRun) {
			got += fmt.Sprintf("%d+%d %v %v, ", (r.Low-base)/pageSize, (r.High-r.Low)/pageSize, r.Resident, r.Changed)
		})
		if err == unix.ENOTTY {
			t.Logf("%s: the kernel is too old", way.name)
		} else if err != nil || got != way.want {
			t.Errorf("%s: %s, want %s: %v", way.name, got, way.want, err)
		}
	}
	runtime.KeepAlive(read)
}

// TestPagemapEnds: what was told before an error is no answer.
func TestPagemapEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pagemap")
	if err := os.WriteFile(path, binary.LittleEndian.AppendUint64(nil, 1<<63), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var got []PageRun
	err = readPagemap(f, 0, 3*pageSize, func(r PageRun) { got = append(got, r) })
	if !errors.Is(err, io.EOF) || !slices.Equal(got, []PageRun{{0, pageSize, true, true}}) {
		t.Errorf("%v, %v", got, err)
	}
}
