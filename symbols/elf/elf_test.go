package elf

import (
	"bytes"
	delf "debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/testprogs"

	"github.com/klauspost/compress/zstd"
)

const libc = "/lib/x86_64-linux-gnu/libc.so.6"

// TestAgainstReadelf compares every symbol of libc, with versions, and every
// section with readelf's list.
func TestAgainstReadelf(t *testing.T) {
	f, err := Open(libc)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := f.Dynsym()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(testprogs.Tool(t, "readelf"), "-W", "--dyn-syms", libc).Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for line := range strings.Lines(string(out)) {
		w := strings.Fields(line)
		if len(w) < 8 || !strings.HasSuffix(w[0], ":") {
			continue
		}
		i, err := strconv.Atoi(strings.TrimSuffix(w[0], ":"))
		if err != nil || i == 0 {
			continue
		}
		seen++
		value, _ := strconv.ParseUint(w[1], 16, 64)
		size, _ := strconv.ParseUint(w[2], 0, 64)
		s := table.Sym(i)
		name := s.Name
		if s.Version != "" && s.Version != s.Name { // readelf gives the versions' own symbols none
			sep := "@@"
			if s.Hidden || !s.Defined {
				sep = "@"
			}
			name += sep + s.Version
		}
		if name != w[7] || uint64(s.Addr) != value || s.Size != size || s.Defined != (w[6] != "UND") || s.IFunc != (w[3] == "IFUNC") || s.Weak != (w[4] == "WEAK") {
			t.Errorf("symbol %d: %+v, readelf %q", i, s, w)
		}
		if w[3] == "FUNC" && s.Defined {
			if at, ok := table.At(s.Addr); !ok || at.Addr != s.Addr {
				t.Errorf("symbol at %v: %+v, want %s", s.Addr, at, s.Name)
			}
		}
		if named := table.Named(s.Name); len(named) == 0 {
			t.Errorf("%s not found by name", s.Name)
		}
	}
	if seen != table.Len()-1 {
		t.Errorf("%d symbols, readelf lists %d", table.Len()-1, seen)
	}
}

func TestBuildIDAndLinks(t *testing.T) {
	f, err := Open(libc)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out, err := exec.Command(testprogs.Tool(t, "readelf"), "-n", libc).Output()
	if err != nil {
		t.Fatal(err)
	}
	if id := f.BuildID(); len(id) != 40 || !bytes.Contains(out, []byte("Build ID: "+id)) {
		t.Errorf("build ID %s", id)
	}
	if name, _, ok := f.DebugLink(); !ok || !strings.HasSuffix(name, ".debug") {
		t.Errorf("debug link %q, %v", name, ok)
	}
	var b [4]byte
	if !f.ReadAddr(b[:], 0) || string(b[:]) != delf.ELFMAG {
		t.Errorf("first bytes %x", b)
	}
	if f.ReadAddr(b[:], 1<<40) {
		t.Error("read outside of segments")
	}
}

// TestUnpack decompresses sections in every encoding, and bad ones.
func TestUnpack(t *testing.T) {
	text := bytes.Repeat([]byte("debug information "), 10000)
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	header := func(kind delf.CompressionType, size int) []byte {
		h := make([]byte, 24)
		binary.LittleEndian.PutUint32(h, uint32(kind))
		binary.LittleEndian.PutUint64(h[8:], uint64(size))
		return h
	}
	packed := enc.EncodeAll(text, header(delf.COMPRESS_ZSTD, len(text)))
	got, err := unpack(packed)
	if err != nil || !bytes.Equal(got, text) {
		t.Errorf("zstd: %d bytes, %v", len(got), err)
	}
	for name, raw := range map[string][]byte{
		"short header":  {1, 2, 3},
		"unknown kind":  header(99, 10),
		"huge":          header(delf.COMPRESS_ZLIB, 1<<50),
		"size too big":  enc.EncodeAll(text, header(delf.COMPRESS_ZSTD, len(text)+1)),
		"large, absent": append(header(delf.COMPRESS_ZSTD, 1<<31), packed[24:]...),
		"not zlib":      append(header(delf.COMPRESS_ZLIB, 10), "garbage"...),
		"cut":           packed[:len(packed)-5],
	} {
		if got, err := unpack(raw); err == nil {
			t.Errorf("%s: %d bytes without error", name, len(got))
		}
	}
	if _, err := UnpackOld([]byte("ZLIB\x00\x00\x00\x00\x00\x00\x00\x09garbage")); err == nil {
		t.Error("bad .zdebug_ section without error")
	}
}

func TestGuard(t *testing.T) {
	p := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(p, make([]byte, 1<<16), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, unmap, err := mapFile(f, 1<<16)
	if err != nil {
		t.Fatal(err)
	}
	defer unmap()
	if err := os.Truncate(p, 0); err != nil {
		t.Fatal(err)
	}
	sum := byte(0)
	if err := Guard(func() { sum += data[5000] }); err == nil || !strings.Contains(err.Error(), "file changed") {
		t.Errorf("reading what is gone: %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a bug's panic was swallowed")
			}
		}()
		_ = Guard(func() { panic("bug") })
	}()
}

// FuzzFile reads everything of foreign bytes.
func FuzzFile(f *testing.F) {
	f.Add([]byte(delf.ELFMAG))
	if exe, err := os.ReadFile("/bin/true"); err == nil {
		f.Add(exe)
		f.Add(exe[:len(exe)/2])
		exe = bytes.Clone(exe)
		exe[16] = byte(delf.ET_REL) // its relocations are not those of an object file, and hostile
		f.Add(exe)
	}
	if object, err := os.ReadFile("/usr/lib/x86_64-linux-gnu/crt1.o"); err == nil {
		f.Add(object)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := OpenReaderAt("fuzz", bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		if linked, err := file.Linked(); err == nil {
			file = linked
		}
		for i := range min(len(file.Sections), 100) {
			_, _ = file.Contents(i)
		}
		file.BuildID()
		file.DebugLink()
		file.AltLink()
		file.AltID()
		file.IsPIE()
		if mini, err := file.MiniDebug(); err == nil && mini != nil {
			_, _ = mini.Symtab()
		}
		for _, get := range []func() (*Table, error){file.Symtab, file.Dynsym} {
			table, err := get()
			if err != nil {
				continue
			}
			for i := range min(table.Len(), 1000) {
				s := table.Sym(i)
				table.Named(s.Name)
				table.At(s.Addr + 1)
			}
			table.At(addr.File(^uint64(0)))
		}
	})
}
