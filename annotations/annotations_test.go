package annotations_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/annotations"
	"hdb/internal/addr"
	_ "hdb/testprogs" // whose environment compilers run in
)

const calls = `
#include "hdb.h"
void calls(void *p);
void calls(void *p) {
	HDB_MARK("x"); HDB_BREAK(); HDB_PAUSE(); HDB_RESUME(); HDB_POOL_CREATE(p); HDB_ALLOC(p, p, 3);
	HDB_REALLOC(p, p, p, sizeof(int)); HDB_FREE(p, p); HDB_POOL_DESTROY(p);
}
`

// TestHeader compiles the header by both compilers with all warnings, for each standard and form
// of a program, in two files of one program. The program has one note, and its functions are
// where that says.
func TestHeader(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("hdb.h", annotations.Header)
	main := "int main(int argc, char **argv) { calls(argv); return argc == 99; }\n"
	sources := map[string][]string{}
	for _, suffix := range []string{".c", ".cc"} {
		sources[suffix] = []string{write("one"+suffix, calls+main), write("two"+suffix, strings.ReplaceAll(calls, "calls", "more"))}
	}
	warnings := strings.Fields("-Wall -Wextra -pedantic -Wconversion -Wcast-qual -Wshadow -Werror")
	forms := []string{"-O0", "-O2 -flto", "-static -O1", "-no-pie -masm=intel -O2", "-Os -fPIE -pie -fcf-protection=full",
		"-O2 -fuse-ld=lld -ffunction-sections -Wl,--gc-sections", "-O1 -DHDB_DISABLE"}
	n := 0
	for _, compiler := range []struct {
		name, suffix, more string
		standards          string
	}{
		{"gcc", ".c", "-Wstrict-prototypes -Wmissing-prototypes", "c89 gnu89 c99 c17 c2x"},
		{"clang", ".c", "-Wstrict-prototypes -Wmissing-prototypes", "c89 gnu89 c99 c17 c2x"},
		{"g++", ".cc", "-Wold-style-cast", "c++98 c++11 c++17 c++20"},
		{"clang++", ".cc", "-Wold-style-cast", "c++98 c++11 c++17 c++20"},
	} {
		for _, standard := range strings.Fields(compiler.standards) {
			for _, form := range forms {
				if n++; testing.Short() && n%21 != 0 {
					continue
				}
				t.Run(compiler.name+" "+standard+" "+form, func(t *testing.T) {
					t.Parallel()
					out := filepath.Join(t.TempDir(), "program")
					args := append([]string{"-std=" + standard, "-o", out}, warnings...)
					args = append(append(args, strings.Fields(compiler.more)...), strings.Fields(form)...)
					if strings.HasPrefix(compiler.name, "clang") && strings.Contains(form, "-flto") {
						args = append(args, "-fuse-ld=lld")
					}
					if text, err := exec.Command(compiler.name, append(args, sources[compiler.suffix]...)...).CombinedOutput(); err != nil {
						t.Fatalf("%v\n%s", err, text)
					}
					if text, err := exec.Command(out).CombinedOutput(); err != nil {
						t.Fatalf("%v\n%s", err, text)
					}
					want := 9
					if strings.Contains(form, "HDB_DISABLE") {
						want = 0
					}
					found := functionsOf(t, out)
					if len(found) != want {
						t.Errorf("%d functions, want %d", len(found), want)
					}
				})
			}
		}
	}
}

// functionsOf are the functions that Find finds in an executable as it will lie in memory, at
// the addresses of the file. The symbol table has to say the same; then that is stripped.
func functionsOf(t *testing.T, path string) []annotations.Function {
	t.Helper()
	memory, symbols := image(t, path)
	found := annotations.Find(memory, memory.low, memory.high, 0)
	for _, fn := range found {
		if at, ok := symbols[fn.Name]; !ok || at != fn.Addr {
			t.Errorf("%s at %v, the symbol table has it at %v", fn.Name, fn.Addr, at)
		}
	}
	if out, err := exec.Command("strip", path).CombinedOutput(); err != nil {
		t.Fatalf("strip: %v\n%s", err, out)
	}
	memory, _ = image(t, path)
	if again := annotations.Find(memory, memory.low, memory.high, 0); fmt.Sprint(again) != fmt.Sprint(found) {
		t.Errorf("stripped: %v, before %v", again, found)
	}
	return found
}

// A segmented is memory as an ELF file's segments are mapped.
type segmented struct {
	bytes     []byte
	low, high addr.Run
}

func (s segmented) ReadAt(b []byte, at int64) (int, error) {
	if at < int64(s.low) || at >= int64(s.high) {
		return 0, io.EOF
	}
	n := copy(b, s.bytes[at-int64(s.low):])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func image(t *testing.T, path string) (segmented, map[string]addr.Run) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	low, high := ^uint64(0), uint64(0)
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			low, high = min(low, p.Vaddr&^4095), max(high, p.Vaddr+p.Memsz)
		}
	}
	s := segmented{make([]byte, high-low), addr.Run(low), addr.Run(high)}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			if _, err := io.ReadFull(p.Open(), s.bytes[p.Vaddr-low:][:p.Filesz]); err != nil {
				t.Fatal(err)
			}
		}
	}
	symbols := map[string]addr.Run{}
	all, _ := f.Symbols() // none if it is stripped
	for _, sym := range all {
		symbols[sym.Name] = addr.Run(sym.Value)
	}
	return s, symbols
}

// FuzzFind has Find read what is no ELF file, and functions lie in the module.
func FuzzFind(f *testing.F) {
	head := make([]byte, 64+56+28)
	copy(head, "\x7fELF\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint64(head[32:], 64)
	le.PutUint16(head[54:], 56)
	le.PutUint16(head[56:], 1)
	le.PutUint32(head[64:], 4)
	le.PutUint64(head[64+16:], 120)
	le.PutUint64(head[64+40:], 28)
	for i, w := range []uint32{4, 12, 1, 0x626468, 16, 16, 9} {
		le.PutUint32(head[120+4*i:], w)
	}
	f.Add(append(head, bytes.Repeat([]byte{0x90}, 200)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		const low = 0x10000
		memory := segmented{b, low, addr.Run(low + len(b))}
		for _, fn := range annotations.Find(memory, memory.low, memory.high, low) {
			if fn.Addr < memory.low || fn.Addr >= memory.high {
				t.Errorf("%v is not in the module", fn)
			}
		}
	})
}

// TestPythonModule has the module be one for the oldest version that hdb knows.
func TestPythonModule(t *testing.T) {
	cmd := exec.Command("/usr/bin/python3", "-W", "error", "-c", "import ast, sys; ast.parse(sys.stdin.read(), feature_version=(3, 8))")
	cmd.Stdin = strings.NewReader(annotations.PythonModule)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
