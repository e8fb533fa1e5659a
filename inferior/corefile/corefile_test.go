package corefile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hdb/internal/addr"
)

// flat is memory that reads as a pattern of its addresses.
type flat struct{}

func (flat) ReadAt(b []byte, off int64) (int, error) {
	for i := range b {
		b[i] = pattern(addr.Run(off) + addr.Run(i))
	}
	return len(b), nil
}

func pattern(a addr.Run) byte { return byte(a>>12) ^ byte(a) | 1 }

// registers are those of a thread with that stack pointer.
func registers(sp addr.Run) []byte {
	b := make([]byte, regsSize)
	binary.LittleEndian.PutUint64(b[19*8:], uint64(sp))
	return b
}

const stackLow, dataLow, fileLow = addr.Run(0x7ff000000000), addr.Run(0x10000), addr.Run(0x400000)

// sample is the image of a process with a stack, memory that was left out, and the mapped
// file of that name.
func sample(file string) *Image {
	info := make([]byte, siginfoSize)
	info[0] = 11
	aux := binary.LittleEndian.AppendUint64(nil, atPHdr)
	aux = binary.LittleEndian.AppendUint64(aux, uint64(fileLow)+64)
	aux = append(aux, make([]byte, 16)...)
	return &Image{
		Process: Process{PID: 100, Command: "sample", Args: "./sample -v"}, Parent: 1, UID: 1000,
		Threads: []Thread{
			{TID: 102, Signal: 11, Regs: registers(stackLow + 8), FP: make([]byte, fpSize), Xstate: make([]byte, 832), Siginfo: info, Blocked: 4},
			{TID: 100, Regs: registers(stackLow + 64)},
		},
		Auxv: aux,
		Regions: []Region{
			{Low: dataLow, High: dataLow + 0x3000, Flags: elf.PF_R | elf.PF_W},
			{Low: fileLow, High: fileLow + 0x3000, Flags: elf.PF_R | elf.PF_X, Stored: 0x1000, File: file},
			{Low: stackLow, High: stackLow + 0x2000, Flags: elf.PF_R | elf.PF_W, Stored: 0x2000},
		},
		Memory: flat{},
	}
}

func encoded(t testing.TB, im *Image) []byte {
	t.Helper()
	var b bytes.Buffer
	size, err := im.Write(&b)
	if err != nil || size != int64(b.Len()) {
		t.Fatalf("write: %d bytes of %d, %v", b.Len(), size, err)
	}
	return b.Bytes()
}

func parsed(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestRoundTrip(t *testing.T) {
	im := sample("/nowhere/sample")
	f := parsed(t, encoded(t, im))
	defer f.Close()
	if want := (Process{PID: 100, UID: 1000, Command: "sample", Args: "./sample -v", Signal: 11}); f.Process != want || f.Missing != 0 || f.Damage != nil {
		t.Errorf("process %+v, %d bytes missing, damage %v", f.Process, f.Missing, f.Damage)
	}
	for i, th := range f.Threads {
		want := im.Threads[i]
		if th.TID != want.TID || th.Signal != want.Signal || th.Blocked != want.Blocked || !bytes.Equal(th.Regs, want.Regs) ||
			!bytes.Equal(th.FP, want.FP) || !bytes.Equal(th.Xstate, want.Xstate) || !bytes.Equal(th.Siginfo, want.Siginfo) {
			t.Errorf("thread %d: %+v, want %+v", i, th, want)
		}
	}
	if len(f.Threads) != 2 || f.Auxv[atPHdr] != uint64(fileLow)+64 || f.Program() != "/nowhere/sample" {
		t.Errorf("%d threads, auxv %v, program %q", len(f.Threads), f.Auxv, f.Program())
	}
	var said []string
	f.Report = func(line string) { said = append(said, line) }
	for _, tc := range []struct {
		at   addr.Run
		n    int
		want string // of the error, "" none
	}{
		{stackLow, 0x2000, ""},
		{stackLow + 0xfff, 2, ""},
		{fileLow, 0x1000, ""},
		{fileLow + 0xff8, 16, "left out of the core: /nowhere/sample: no such file"},
		{fileLow + 0x2000, 8, "left out of the core: /nowhere/sample: no such file"},
		{dataLow, 8, "left out of the core"},
		{stackLow - 8, 16, "not mapped"},
		{stackLow + 0x1ffc, 8, "not mapped"},
	} {
		b := make([]byte, tc.n)
		n, err := f.ReadAt(b, int64(tc.at))
		if tc.want == "" && (err != nil || n != tc.n) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("read %d at %v: %d, %v; want %q", tc.n, tc.at, n, err, tc.want)
		}
		for i := range n {
			if b[i] != pattern(tc.at+addr.Run(i)) {
				t.Errorf("read %d at %v: byte %d is %#x", tc.n, tc.at, i, b[i])
				break
			}
		}
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], "/nowhere/sample: no such file") {
		t.Errorf("said %q", said)
	}
}

// TestCut reads what a core that was cut has, at each length.
// TestKernelMappings names the mappings of the kernel, which have no file, by where they lie.
func TestKernelMappings(t *testing.T) {
	const vdso, r, rw = addr.Run(0x7ffff7fc8000), elf.PF_R, elf.PF_R | elf.PF_W
	mapping := func(low addr.Run, pages int, flags elf.ProgFlag) Region {
		return Region{Low: low, High: low + addr.Run(pages*pageSize), Flags: flags}
	}
	for _, c := range []struct {
		below []Region
		want  []string
	}{
		{[]Region{mapping(vdso-0x8000, 2, rw), mapping(vdso-0x6000, 4, r), mapping(vdso-0x2000, 2, r)}, []string{"", "[vvar]", "[vvar_vclock]"}},
		{[]Region{mapping(vdso-0x8000, 4, r), mapping(vdso-0x4000, 4, r)}, []string{"", "[vvar]"}},
		{[]Region{mapping(vdso-0x6000, 4, rw), mapping(vdso-0x2000, 2, r)}, []string{"", "[vvar]"}},
		{[]Region{mapping(vdso-0x8000, 4, r)}, []string{""}}, // gdb leaves vvar out
		{[]Region{mapping(vdso-0x4000, 4, rw)}, []string{""}},
	} {
		im := sample("/nowhere/sample")
		im.Auxv = binary.LittleEndian.AppendUint64(nil, atSysinfo)
		im.Auxv = binary.LittleEndian.AppendUint64(im.Auxv, uint64(vdso))
		im.Auxv = append(im.Auxv, make([]byte, 16)...)
		im.Regions = append(c.below, mapping(vdso, 2, elf.PF_R|elf.PF_X), mapping(vdso+0x2000, 1, elf.PF_R|elf.PF_X), mapping(0xffffffffff600000, 1, elf.PF_X))
		f := parsed(t, encoded(t, im))
		var names []string
		for _, m := range f.Mappings() {
			names = append(names, m.Name)
		}
		if want := append(c.want, "[vdso]", "", "[vsyscall]"); !slices.Equal(names, want) {
			t.Errorf("%q, want %q", names, want)
		}
		f.Close()
	}
}

func TestCut(t *testing.T) {
	whole := encoded(t, sample("/nowhere/sample"))
	for _, n := range []int{0, 3, 63, 64, 100, 300, 1000, 2000, 3000, 4096, 5000, 8192, len(whole) - 1} {
		f, err := Read(bytes.NewReader(whole[:n]), int64(n))
		if err != nil {
			if n >= 4096 || !errors.Is(err, ErrFormat) {
				t.Errorf("%d bytes: %v", n, err)
			}
			continue
		}
		if f.Missing == 0 {
			t.Errorf("%d bytes of %d: nothing is missing", n, len(whole))
		}
		b := make([]byte, 0x2000)
		got, err := f.ReadAt(b, int64(stackLow))
		if err == nil || !strings.Contains(err.Error(), "cut off") {
			t.Errorf("%d bytes: read %d, %v", n, got, err)
		}
		f.Close()
	}
}

// TestManyRegions has more mappings than e_phnum can count.
func TestManyRegions(t *testing.T) {
	im := sample("/nowhere/sample")
	for i := range addr.Run(70_000) {
		im.Regions = append(im.Regions, Region{Low: stackLow + 0x10000 + 0x2000*i, High: stackLow + 0x11000 + 0x2000*i, Flags: elf.PF_R, File: "/lib/x", Offset: uint64(i) << 12})
	}
	f := parsed(t, encoded(t, im))
	defer f.Close()
	maps := f.Mappings()
	if len(maps) != len(im.Regions) {
		t.Fatalf("%d mappings of %d", len(maps), len(im.Regions))
	}
	if last, want := maps[len(maps)-1], im.Regions[len(im.Regions)-1]; last.Low != want.Low || last.Name != want.File || last.Offset != want.Offset {
		t.Errorf("the last is %+v, want %+v", last, want)
	}
}

func TestManyThreads(t *testing.T) {
	im := sample("/nowhere/sample")
	for i := range 600 {
		im.Threads = append(im.Threads, Thread{TID: 1000 + i, Regs: registers(stackLow)})
	}
	f := parsed(t, encoded(t, im))
	defer f.Close()
	if len(f.Threads) != 602 || f.Threads[601].TID != 1599 {
		t.Errorf("%d threads, the last %d", len(f.Threads), f.Threads[len(f.Threads)-1].TID)
	}
}

// TestHoles writes zeros as holes where the file can have them.
func TestHoles(t *testing.T) {
	im := sample("/nowhere/sample")
	im.Memory = zeros{}
	im.Regions[2].High, im.Regions[2].Stored = stackLow+64<<20, 64<<20
	path := filepath.Join(t.TempDir(), "core")
	w, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	size, err := im.Write(w)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Size() != size {
		t.Fatalf("%d bytes, want %d, %v", st.Size(), size, err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := bytes.Repeat([]byte{1}, 16)
	if _, err := f.ReadAt(b, int64(stackLow+64<<20-16)); err != nil || !bytes.Equal(b, make([]byte, 16)) {
		t.Errorf("%x, %v", b, err)
	}
}

type zeros struct{}

func (zeros) ReadAt(b []byte, _ int64) (int, error) { clear(b); return len(b), nil }

// TestUnreadable has pages that cannot be read be zeros, as in cores of the kernel, and
// what is around them right.
func TestUnreadable(t *testing.T) {
	im := sample("/nowhere/sample")
	im.Memory = broken{}
	f := parsed(t, encoded(t, im))
	defer f.Close()
	b := make([]byte, 0x2000)
	if _, err := f.ReadAt(b, int64(stackLow)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b[:0x1000], make([]byte, 0x1000)) || b[0x1000] != pattern(stackLow+0x1000) {
		t.Errorf("%x, then %x", b[:8], b[0x1000:0x1008])
	}
}

// broken cannot read the page at stackLow.
type broken struct{}

func (broken) ReadAt(b []byte, off int64) (int, error) {
	if addr.Run(off) < stackLow+0x1000 && addr.Run(off)+addr.Run(len(b)) > stackLow {
		return 0, io.ErrUnexpectedEOF
	}
	return flat{}.ReadAt(b, off)
}

// TestFull tells of a disk that is full.
func TestFull(t *testing.T) {
	w, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := sample("/nowhere/sample").Write(w); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
}

// TestProceed ends the writing when it is given up.
func TestProceed(t *testing.T) {
	im := sample("/nowhere/sample")
	im.Proceed = func() error { return io.ErrClosedPipe }
	if _, err := im.Write(io.Discard); err != io.ErrClosedPipe {
		t.Errorf("%v", err)
	}
}

// object is an ELF file of three pages, with a build ID if id is not "".
func object(id string, fill byte) []byte {
	b := bytes.Repeat([]byte{fill}, 0x3000)
	clear(b[:0x1000])
	var head bytes.Buffer
	(&Image{}).header(&head, 1, false)
	binary.LittleEndian.PutUint16(head.Bytes()[16:], uint16(elf.ET_DYN))
	note := appendNote(nil, "GNU", 3, []byte(id))
	programHeader(&head, elf.ProgHeader{Type: elf.PT_NOTE, Off: 0x200, Filesz: uint64(len(note))})
	copy(b, head.Bytes())
	if id != "" {
		copy(b[0x200:], note)
	} else {
		binary.LittleEndian.PutUint16(b[56:], 0)
	}
	return b
}

// offsetMemory reads a file as it is mapped at fileLow, and the pattern elsewhere.
type offsetMemory []byte

func (m offsetMemory) ReadAt(b []byte, off int64) (int, error) {
	if a := addr.Run(off); a >= fileLow && a < fileLow+addr.Run(len(m)) {
		return copy(b, m[a-fileLow:]), nil
	}
	return flat{}.ReadAt(b, off)
}

// TestBacking takes pages from mapped files only if they are the ones that were mapped.
func TestBacking(t *testing.T) {
	dir := t.TempDir()
	past := time.Now().Add(-time.Hour)
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, b, 0o644), os.Chtimes(path, past, past)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	future := time.Now().Add(time.Hour)
	for _, tc := range []struct {
		name         string
		mapped, file []byte
		stored       uint64
		anonymous    bool
		change       func(path string, im *Image) error
		want         string // of the error, "" none
	}{
		{name: "same", mapped: object("one", 1), file: object("one", 1), stored: 0x1000, anonymous: true},
		{name: "touched", mapped: object("one", 1), file: object("one", 1), stored: 0x1000, anonymous: true,
			change: func(path string, _ *Image) error { return os.Chtimes(path, future, future) }},
		{name: "other", mapped: object("one", 1), file: object("two", 2), stored: 0x1000, anonymous: true, want: "build ID 74776f, the core has build ID 6f6e65"},
		{name: "without", mapped: object("one", 1), file: object("", 2), stored: 0x1000, anonymous: true, want: "no build ID, the core has build ID 6f6e65"},
		{name: "page", mapped: object("", 1), file: object("", 1), stored: 0x1000, anonymous: true},
		{name: "page-newer", mapped: object("", 1), file: object("", 1), stored: 0x1000, anonymous: true, want: "changed after the core was written",
			change: func(path string, _ *Image) error { return os.Chtimes(path, future, future) }},
		{name: "nothing", mapped: object("one", 1), file: object("one", 1), anonymous: true},
		{name: "nothing-newer", mapped: object("one", 1), file: object("one", 1), anonymous: true, want: "changed after the core was written",
			change: func(path string, _ *Image) error { return os.Chtimes(path, future, future) }},
		{name: "fifo", mapped: object("one", 1), file: object("one", 1), anonymous: true, want: "not a regular file",
			change: func(path string, _ *Image) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o755)) }},
		{name: "code", mapped: object("one", 1), file: object("one", 1), stored: 0x1000},
		{name: "data", mapped: object("one", 1), file: object("one", 1), stored: 0x1000, want: "may have been changed in memory",
			change: func(_ string, im *Image) error { im.Regions[1].Flags = elf.PF_R | elf.PF_W; return nil }},
	} {
		path := write(tc.name, tc.file)
		im := sample(path)
		im.Memory, im.Regions[1].Stored = offsetMemory(tc.mapped), tc.stored
		if !tc.anonymous {
			im.Regions[2].Stored = 0
		}
		if tc.change != nil {
			if err := tc.change(path, im); err != nil {
				t.Fatal(err)
			}
		}
		f := parsed(t, encoded(t, im))
		b := make([]byte, 0x800)
		n, err := f.ReadAt(b, int64(fileLow+0x1800))
		switch {
		case tc.want == "" && (err != nil || !bytes.Equal(b, tc.mapped[0x1800:0x2000])):
			t.Errorf("%s: %d, %v, %x", tc.name, n, err, b[:8])
		case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
		f.Close()
	}
}

// TestUse reads pages from a file that has moved.
func TestUse(t *testing.T) {
	file := object("one", 7)
	path := filepath.Join(t.TempDir(), "moved")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		t.Fatal(err)
	}
	im := sample("/nowhere/sample")
	im.Memory = offsetMemory(file)
	f := parsed(t, encoded(t, im))
	defer f.Close()
	f.Use("/nowhere/sample", path)
	var b [1]byte
	if _, err := f.ReadAt(b[:], int64(fileLow+0x2fff)); err != nil || b[0] != 7 || f.Found("/nowhere/sample") != path {
		t.Errorf("%d, %v, found at %q", b[0], err, f.Found("/nowhere/sample"))
	}
	if got := f.ProgramID(); got != fmt.Sprintf("%x", "one") {
		t.Errorf("the program's build ID is %q", got)
	}
}

// TestHostile has segments that overlap and wrap.
func TestHostile(t *testing.T) {
	b := encoded(t, sample("/nowhere/sample"))
	le := binary.LittleEndian
	second := b[headerSize+entrySize*2:]
	le.PutUint64(second[16:], uint64(dataLow)+0x1000) // within the first one
	third := b[headerSize+entrySize*3:]
	le.PutUint64(third[16:], ^uint64(0)-0x100) // wraps
	f := parsed(t, b)
	defer f.Close()
	if maps := f.Mappings(); len(maps) == 0 || maps[0].Low != dataLow || slices.ContainsFunc(maps, func(m Mapping) bool { return m.Low >= m.High }) {
		t.Errorf("%+v", maps)
	}
	if _, err := f.ReadAt(make([]byte, 64), -32); err == nil {
		t.Error("memory around the end of the address space was read")
	}
}

func FuzzRead(f *testing.F) {
	whole := encoded(f, sample("/nowhere/sample"))
	small := whole[:4096] // the memory adds nothing to try
	f.Add(small)
	f.Add(small[:700])
	f.Add(encoded(f, &Image{Threads: []Thread{{TID: 1, Regs: registers(0)}}, Memory: flat{}}))
	none := slices.Clone(small)
	binary.LittleEndian.PutUint16(none[56:], pnXNum)
	f.Add(none)
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		defer c.Close()
		end := addr.Run(0)
		for _, m := range c.Mappings() {
			if m.Low < end || m.Low >= m.High {
				t.Fatalf("mapping %+v behind %v", m, end)
			}
			end = m.High
			buf := make([]byte, 100)
			for _, at := range []addr.Run{m.Low, m.High - 50, m.Low + addr.Run(m.Stored) - 50} {
				if n, err := c.ReadAt(buf, int64(at)); n > len(buf) || n < len(buf) && err == nil {
					t.Fatalf("read at %v: %d, %v", at, n, err)
				}
			}
		}
		c.Program()
		c.ProgramID()
		c.FollowLinkMap("/nowhere/else")
		for i := range c.Threads {
			if len(c.Threads[i].Regs) != regsSize {
				t.Fatalf("thread %d: registers of %d bytes", i, len(c.Threads[i].Regs))
			}
		}
	})
}
