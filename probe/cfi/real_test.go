package cfi

import (
	"debug/elf"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hdb/internal/addr"
	"hdb/symbols"
	"hdb/unwind"
)

// installed are the files whose every row is compared, by glob.
var installed = []struct{ name, glob, debianPackage string }{
	{"libc", "/usr/lib/x86_64-linux-gnu/libc.so.6", "libc6"},
	{"ld.so", "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "libc6"},
	{"libstdc++", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "libstdc++6"},
	{"python3", "/usr/bin/python3", "python3"},
	{"libpython", "/usr/lib/x86_64-linux-gnu/libpython3.*[0-9].so.1.0", "libpython3.11"},
	{"bash", "/usr/bin/bash", "bash"},
	{"libcrypto", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "libssl3"},
	{"musl", "/lib/ld-musl-x86_64.so.1", "musl"},
	{"libLLVM", "/usr/lib/x86_64-linux-gnu/libLLVM-*.so.1", "libllvm14"},
}

// A module is a file and what Compile is given of it.
type module struct {
	path      string
	cfi       *unwind.Table
	low, high addr.File
	code      pieces // its executable segments
	elf       *elf.File
	plt       []unwind.Range
}

// open reads one of installed.
func open(t testing.TB, name string) *module {
	t.Helper()
	i := slices.IndexFunc(installed, func(f struct{ name, glob, debianPackage string }) bool { return f.name == name })
	paths, _ := filepath.Glob(installed[i].glob)
	if len(paths) == 0 {
		t.Fatalf("%s is missing (apt-get install %s)", installed[i].glob, installed[i].debianPackage)
	}
	m := &module{path: paths[len(paths)-1]}
	o, err := symbols.Open(m.path, symbols.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if m.cfi, err = o.CFI(); err != nil {
		t.Fatal(err)
	}
	m.elf, err = elf.Open(m.path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.elf.Close() })
	m.low = ^addr.File(0)
	for _, p := range m.elf.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 {
			continue
		}
		b, err := io.ReadAll(p.Open())
		if err != nil {
			t.Fatal(err)
		}
		m.code = append(m.code, piece{addr.File(p.Vaddr), b})
		m.low, m.high = min(m.low, addr.File(p.Vaddr)), max(m.high, addr.File(p.Vaddr+p.Memsz))
	}
	for _, s := range m.elf.Sections {
		if strings.HasPrefix(s.Name, ".plt") {
			m.plt = append(m.plt, unwind.Range{Low: addr.File(s.Addr), High: addr.File(s.Addr + s.Size)})
		}
	}
	return m
}

func (m *module) compile(t testing.TB, rules *Rules) *Table {
	t.Helper()
	table, err := Compile(m.cfi, m.low, m.high, m.code, rules)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// functions lists where FDEs begin, from .eh_frame_hdr.
func (m *module) functions(t testing.TB) []addr.File {
	t.Helper()
	s := m.elf.Section(".eh_frame_hdr")
	if s == nil {
		return nil
	}
	b, err := s.Data()
	if err != nil || len(b) < 12 || b[2] != 3 || b[3] != 0x3b {
		t.Fatalf("%s: .eh_frame_hdr of another form: %v", m.path, err)
	}
	var starts []addr.File
	for i := range binary.LittleEndian.Uint32(b[8:]) {
		starts = append(starts, addr.File(s.Addr+uint64(int64(int32(binary.LittleEndian.Uint32(b[12+8*i:]))))))
	}
	return starts
}

// between is what the rule should be where no FDE of .eh_frame covers the code.
func (m *module) between(a addr.File) string {
	if row, ok := m.cfi.RowAt(a); ok {
		return expectRule(&row)
	}
	entry := addr.File(m.elf.Entry)
	if row, ok := m.cfi.RowAt(a + 1); ok && row.Signal { // a handler's return address is looked up so
		return expectRule(&row)
	}
	switch {
	case entry != 0 && entry <= a && a < entry+64:
		return "entry"
	case slices.ContainsFunc(m.plt, func(r unwind.Range) bool { return r.Contains(a) }):
		return "plt without CFI"
	}
	for back := range addr.File(10) { // the trampoline's instructions, and the byte before them
		var b [9]byte
		if n, _ := m.code.ReadAt(b[:], int64(a+1-back)); n == len(b) && [9]byte(trampoline) == b {
			return "signal"
		}
	}
	return "no CFI"
}

// A checker compares a table with what it should be, in pieces.
type checker struct {
	*testing.T
	table *Table
	texts []string // of the rules
	bad   int
}

func (c *checker) complain(a addr.File, got, want string) {
	c.Helper()
	if c.bad++; c.bad < 20 {
		c.Errorf("%v: %s, want %s", a, got, want)
	}
}

// pieces visits the table's rows in [low, high), cut to it.
func (c *checker) pieces(low, high addr.File, visit func(low, high addr.File, got string)) {
	for low < high {
		i := c.table.row(uint32(low - c.table.Low))
		end := high
		if i+1 < len(c.table.Offs) {
			end = min(end, c.table.Low+addr.File(c.table.Offs[i+1]))
		}
		visit(low, end, c.texts[c.table.IDs[i]])
		low = end
	}
}

// TestCompileInstalled: the table has RowAt's row everywhere, so at each boundary and at
// each call site.
func TestCompileInstalled(t *testing.T) {
	for _, file := range installed {
		t.Run(file.name, func(t *testing.T) {
			if paths, _ := filepath.Glob(file.glob); len(paths) == 0 && file.name == "libLLVM" {
				t.Skipf("no library of 50 MB and more: %s (apt-get install %s)", file.glob, file.debianPackage)
			}
			if testing.Short() && file.name == "libLLVM" {
				t.Skip("a million rows, not with -short")
			}
			t.Parallel()
			m := open(t, file.name)
			rules := NewRules()
			c := checker{T: t, table: m.compile(t, rules)}
			checkShape(t, c.table)
			for _, r := range rules.List() {
				c.texts = append(c.texts, r.String())
			}
			expect, rows, seen := expectations{}, 0, map[string]int{}
			pos := m.low
			gap := func(high addr.File) {
				c.pieces(pos, high, func(low, high addr.File, got string) {
					for _, a := range []addr.File{low, high - 1} {
						if want := m.between(a); got != want && (want != "plt without CFI" || !strings.HasPrefix(got, "rsp+")) {
							c.complain(a, got, want)
						}
					}
				})
			}
			starts := m.functions(t)
			for i, a := range starts {
				end := m.high
				if i+1 < len(starts) {
					end = starts[i+1]
				}
				row, ok := m.cfi.RowAt(a)
				if ok && a > pos {
					gap(a)
				}
				for ok && a < end {
					want := expect.of(&row)
					pos = min(row.High, end)
					c.pieces(a, pos, func(low, _ addr.File, got string) {
						stand := got == "signal" && low == row.Function.High-1 // for the trampoline behind
						if got != want && !stand {
							c.complain(low, got, want)
						}
					})
					rows++
					seen[want]++
					if strings.Contains(want, "lost") {
						seen["lost"]++
					}
					if a = row.High; a >= row.Function.High {
						break
					}
					row, ok = m.cfi.RowAt(a)
				}
			}
			gap(m.high)
			t.Logf("%s: %d rows in %d, %d kinds; unsupported %d, rbp or rbx lost %d, signal %d, root %d", filepath.Base(m.path),
				rows, len(c.table.Offs), len(c.texts), seen["unsupported"], seen["lost"], seen["signal"], seen["root"])
		})
	}
}

// TestCompileInstalledAsWalker goes one frame up with unwind.Walker and with the model
// of the probe's walker, from the first rows of each kind in each file.
func TestCompileInstalledAsWalker(t *testing.T) {
	for _, file := range installed {
		if paths, _ := filepath.Glob(file.glob); file.name == "libLLVM" && (len(paths) == 0 || testing.Short()) {
			continue // TestCompileInstalled says it
		}
		t.Run(file.name, func(t *testing.T) {
			t.Parallel()
			m := open(t, file.name)
			rules := NewRules()
			table := m.compile(t, rules)
			w := newWorld(t, m.cfi, table, m.high, m.code, rules)
			r := rand.New(rand.NewPCG(7, 8))
			checked, bad := map[uint16]int{}, 0
			for i, off := range table.Offs {
				id, a := table.IDs[i], m.low+addr.File(off)
				if checked[id]++; checked[id] > 5 || a >= m.high {
					continue
				}
				if _, covered := m.cfi.RowAt(a); id == SignalID && !covered {
					a++ // the byte before musl's trampoline is no PC
				}
				if diff := w.disagreement(w.random(r, a)); diff != "" {
					if bad++; bad < 20 {
						t.Errorf("PC %v: %s", a, diff)
					}
				}
			}
			t.Logf("%d kinds", len(checked))
		})
	}
}
