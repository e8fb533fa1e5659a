package symbols_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
)

func TestPerfMap(t *testing.T) {
	m, err := symbols.ReadPerfMap(strings.NewReader(strings.Join([]string{
		"1000 100 first one",
		"0x2000 0x10 Interpreter",
		"1080 100 LazyCompile:~moved /app/a.js:1", // over the end of the first
		"1100 8 in it",
		"not a line", "zz 10 x", "10", "3000 0 empty", "ffffffffffffffff 2 wraps", "4000 10  ",
		"5000 10 unfinish",
	}, "\n")))
	if err != nil || m.Len() != 4 {
		t.Fatalf("%d codes, %v", m.Len(), err)
	}
	for pc, want := range map[addr.Run]string{
		0xfff: "", 0x1000: "first one", 0x107f: "first one", 0x1080: "LazyCompile:~moved /app/a.js:1",
		0x1100: "in it", 0x1107: "in it", 0x1108: "LazyCompile:~moved /app/a.js:1", 0x117f: "LazyCompile:~moved /app/a.js:1",
		0x1180: "", 0x2008: "Interpreter", 0x2010: "", 0x5000: "",
	} {
		f, ok := m.Lookup(pc)
		if f.Function != want || ok != (want != "") || ok && (f.Source != symbols.FromPerfMap || addr.Run(f.Entry) > pc) {
			t.Errorf("%v: %+v, want %q", pc, f, want)
		}
	}
}

// endless is a map that never ends.
type endless struct{ n int }

func (e *endless) Read(b []byte) (int, error) {
	e.n++
	return copy(b, fmt.Sprintf("%x 10 code\n", e.n*16)), nil
}

func TestPerfMapBounds(t *testing.T) {
	m, err := symbols.ReadPerfMap(&endless{})
	if err != nil || m.Len() != 1<<20 {
		t.Errorf("%d codes, %v", m.Len(), err)
	}
	long, err := symbols.ReadPerfMap(io.MultiReader(strings.NewReader("10 10 "), bytes.NewReader(bytes.Repeat([]byte("x"), 1<<20)), strings.NewReader("\n30 10 next\n")))
	if err != nil || long.Len() != 2 {
		t.Fatalf("%d codes, %v", long.Len(), err)
	}
	if f, _ := long.Lookup(0x10); len(f.Function) != 4096 {
		t.Errorf("a name of %d bytes", len(f.Function))
	}
	// Codes that all begin inside of each other: no worse than a sort.
	var nested strings.Builder
	for i := range 1 << 16 {
		fmt.Fprintf(&nested, "%x %x n%d\n", i, (1<<17)-2*i, i)
	}
	m, _ = symbols.ReadPerfMap(strings.NewReader(nested.String()))
	if f, ok := m.Lookup(0x8000); !ok || f.Function != "n32768" {
		t.Errorf("nested: %+v", f)
	}
}

func FuzzPerfMap(f *testing.F) {
	f.Add("1000 100 f\n1010 10 g\n")
	f.Add("0x10 0xffffffffffffffff x\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, _ := symbols.ReadPerfMap(strings.NewReader(text))
		for pc := addr.Run(0); pc < 0x2000; pc += 0x10 {
			if fr, ok := m.Lookup(pc); ok && (fr.Function == "" || addr.Run(fr.Entry) > pc) {
				t.Fatalf("%v: %+v", pc, fr)
			}
		}
	})
}

// memory is a process's, from address 0.
type memory []byte

func (m memory) ReadAt(b []byte, off int64) (int, error) {
	if off < 0 || off+int64(len(b)) > int64(len(m)) {
		return 0, errors.New("not mapped")
	}
	return copy(b, m[off:]), nil
}

func TestJITListOfHostileMemory(t *testing.T) {
	mem := make(memory, 0x1000)
	word := func(at int, v uint64) { binary.LittleEndian.PutUint64(mem[at:], v) }
	word(0x10, 1)
	word(0x20, 0x100) // first_entry
	word(0x100, 0x140)
	word(0x110, 0x8000)
	word(0x118, 64)
	word(0x140, 0x180)
	word(0x158, 1<<40) // a size that is not read
	word(0x180, 0x100) // a circle
	word(0x190, 0x9000)
	word(0x198, 8)
	list, err := symbols.ReadJITList(mem, 0x10)
	if len(list) != 2 || list[0] != (symbols.JITEntry{Addr: 0x8000, Size: 64}) || err == nil || !strings.Contains(err.Error(), "circle") {
		t.Errorf("%v, %v", list, err)
	}
	word(0x180, 0xfff0)
	if list, err = symbols.ReadJITList(mem, 0x10); len(list) != 2 || err == nil {
		t.Errorf("%v, %v", list, err)
	}
	word(0x10, 7)
	if _, err = symbols.ReadJITList(mem, 0x10); err == nil || !strings.Contains(err.Error(), "version 7") {
		t.Errorf("%v", err)
	}
}

// jitImage links the program of testdata to lie where a runtime would put it.
func jitImage(t testing.TB) []byte {
	dir := t.TempDir()
	run(t, "gcc", "-c", "-g", "-O2", "testdata/inline.c", "-o", filepath.Join(dir, "a.o"))
	run(t, "ld", "-Ttext=0x7f0000", "--unresolved-symbols=ignore-all", "-z", "noseparate-code", "-e", "0", filepath.Join(dir, "a.o"), "-o", filepath.Join(dir, "a.elf"))
	b, err := os.ReadFile(filepath.Join(dir, "a.elf"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestJITImage(t *testing.T) {
	image := jitImage(t)
	j, err := symbols.ReadJITImage(image, symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	frames := j.Lookup(0x7f0000)
	if len(frames) == 0 || frames[0].Source != symbols.FromJIT || frames[0].Line == 0 || !strings.HasSuffix(frames[0].File, "inline.c") {
		t.Errorf("frames %+v", frames)
	}
	if frames := j.Lookup(0x1000); frames != nil {
		t.Errorf("outside: %+v", frames)
	}
	if _, err := symbols.ReadJITImage([]byte("no image"), symbols.Config{}); err == nil {
		t.Error("no error for what is no image")
	}
}

// TestJITNamesOverlap reads an image whose symbols all have ends of one long name.
func TestJITNamesOverlap(t *testing.T) {
	const count, length, code = 4000, 1 << 18, 0x7f0000
	type section struct{ typ, flags, addr, off, size, link uint64 }
	strs, syms := uint64(64), uint64(64+length)
	image := make([]byte, 64+length+24*count)
	copy(image, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(image[16:], 2)  // ET_EXEC
	le.PutUint16(image[18:], 62) // EM_X86_64
	copy(image[strs:], bytes.Repeat([]byte("a"), length-1))
	for i := 1; i < count; i++ {
		sym := image[syms+24*uint64(i):]
		le.PutUint32(sym, uint32(i))
		sym[4], sym[6] = 2, 1 // STT_FUNC in section 1
		le.PutUint64(sym[8:], code+uint64(i))
	}
	le.PutUint64(image[40:], uint64(len(image)))
	le.PutUint16(image[58:], 64)
	sections := []section{{}, {8, 6, code, 0, 0x10000, 0}, {2, 0, 0, syms, 24 * count, 3}, {3, 0, 0, strs, length, 0}}
	le.PutUint16(image[60:], uint16(len(sections)))
	for _, s := range sections {
		image = le.AppendUint32(image, 0)
		image = le.AppendUint32(image, uint32(s.typ))
		for _, v := range []uint64{s.flags, s.addr, s.off, s.size, s.link, 0, 0} {
			image = le.AppendUint64(image, v)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	j, err := symbols.ReadJITImage(image, symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 16<<20 {
		t.Errorf("%d bytes for an image of %d", n, len(image))
	}
	if f := j.Lookup(code + 1); len(f) != 1 || len(f[0].Function) != length-2 {
		t.Errorf("%d frames", len(f))
	}
}

func FuzzJITImage(f *testing.F) {
	f.Add(jitImage(f))
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, image []byte) {
		j, err := symbols.ReadJITImage(image, symbols.Config{})
		if err != nil {
			return
		}
		defer j.Close()
		for pc := addr.Run(0x7f0000); pc < 0x7f0100; pc += 7 {
			j.Lookup(pc)
		}
	})
}
