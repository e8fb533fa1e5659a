package unwind

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/internal/addr"
)

// A snapshot is a program stopped one or more times, as testdata/snapshot.py wrote it.
type snapshot struct {
	Maps  []mapping
	Stops []stop

	dir    string
	tables map[string]*Table
	bias   map[string]addr.Bias
	files  parts // mapped files: code, mostly
}

type mapping struct {
	Low, High, Off uint64
	Perm, Path     string
}

type stop struct {
	Regs   map[string]uint64
	Frames []gdbFrame // gdb's opinion, without inlined frames
	Memory []struct {
		Low  uint64
		File string
	}
}

type gdbFrame struct {
	PC     uint64
	Name   string
	Signal bool
	Regs   map[string]*uint64 // null: not saved
}

// takeSnapshot runs a program under gdb with the given commands.
func takeSnapshot(t testing.TB, program string, commands ...string) *snapshot {
	t.Helper()
	needTool(t, "gdb", "gdb")
	script, err := filepath.Abs("testdata/snapshot.py")
	if err != nil {
		t.Fatal(err)
	}
	s := &snapshot{dir: t.TempDir(), tables: map[string]*Table{}, bias: map[string]addr.Bias{}}
	args := []string{"-nx", "-q", "-batch", "-x", script,
		"-iex", "set debuginfod enabled off", "-iex", "set auto-load off",
		"-ex", "set backtrace past-main on", "-ex", "set backtrace past-entry on", "-ex", "set backtrace limit 4000"}
	for _, c := range slices.Concat(commands, []string{"snapwrite"}) {
		args = append(args, "-ex", c)
	}
	out := run(t, s.dir, "gdb", append(args, program)...)
	b, err := os.ReadFile(filepath.Join(s.dir, "snapshot.json"))
	if err == nil {
		err = json.Unmarshal(b, s)
	}
	if err != nil || len(s.Stops) == 0 {
		t.Fatalf("gdb took no snapshot: %v\n%s", err, out)
	}
	s.loadModules(t)
	return s
}

// loadModules makes the tables of all mapped files and of the vDSO.
func (s *snapshot) loadModules(t testing.TB) {
	t.Helper()
	for _, m := range s.Maps {
		if s.tables[m.Path] != nil || m.Off != 0 {
			continue
		}
		var f *elf.File
		var err error
		switch {
		case m.Path == "[vdso]":
			var image []byte
			if image, err = os.ReadFile(filepath.Join(s.dir, s.vdsoFile(m.Low))); err == nil {
				f, err = elf.NewFile(bytes.NewReader(image))
			}
		case strings.HasPrefix(m.Path, "/"):
			if f, err = elf.Open(m.Path); err != nil {
				continue // a locale or a font
			}
		default:
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", m.Path, err)
		}
		defer f.Close()
		s.tables[m.Path] = newTable(t, sectionsOf(t, m.Path, f))
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD {
				s.bias[m.Path] = addr.Bias(m.Low - p.Vaddr&^(p.Align-1))
				break
			}
		}
	}
}

func (s *snapshot) vdsoFile(low uint64) string {
	for _, m := range s.Stops[0].Memory {
		if m.Low == low {
			return m.File
		}
	}
	return ""
}

// ModuleAt implements Modules.
func (s *snapshot) ModuleAt(pc addr.Run) (*Table, addr.Bias, bool) {
	i, ok := slices.BinarySearchFunc(s.Maps, uint64(pc), func(m mapping, pc uint64) int {
		switch {
		case m.High <= pc:
			return -1
		case m.Low > pc:
			return 1
		}
		return 0
	})
	if !ok || s.tables[s.Maps[i].Path] == nil {
		return nil, 0, false
	}
	return s.tables[s.Maps[i].Path], s.bias[s.Maps[i].Path], true
}

// regs are the registers a stop's walk begins with.
func (p *stop) regs() Regs {
	var r Regs
	for n := range Reg(numRegs) {
		if v, ok := p.Regs[n.String()]; ok {
			r.Set(n, v)
		}
	}
	return r
}

// A parts is memory put together from pieces that do not overlap.
type parts []part

type part struct {
	low  uint64
	data []byte
}

// memory is the stop's dumped memory, and the mapped files.
func (s *snapshot) memory(t testing.TB, p *stop) parts {
	t.Helper()
	var mem parts
	for _, m := range p.Memory {
		b, err := os.ReadFile(filepath.Join(s.dir, m.File))
		if err != nil {
			t.Fatal(err)
		}
		mem = append(mem, part{m.Low, b})
	}
	if s.files == nil {
		s.mapFiles(t)
	}
	return append(mem, s.files...)
}

// mapFiles reads the files that are mapped without being writable.
func (s *snapshot) mapFiles(t testing.TB) {
	t.Helper()
	for _, m := range s.Maps {
		if s.tables[m.Path] == nil || m.Path == "[vdso]" || strings.Contains(m.Perm, "w") {
			continue
		}
		b, err := os.ReadFile(m.Path)
		if err != nil {
			t.Fatal(err)
		}
		size := uint64(len(b))
		s.files = append(s.files, part{m.Low, b[min(m.Off, size):min(m.Off+m.High-m.Low, size)]})
	}
}

// ReadAt reads as a process does: up to the end of what is mapped in one piece.
func (mem parts) ReadAt(b []byte, off int64) (int, error) {
	for _, p := range mem {
		if at := uint64(off) - p.low; uint64(off) >= p.low && at < uint64(len(p.data)) {
			n := copy(b, p.data[at:])
			if n < len(b) {
				return n, io.ErrUnexpectedEOF
			}
			return n, nil
		}
	}
	return 0, io.EOF
}
