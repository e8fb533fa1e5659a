package unwind

import (
	"bytes"
	"debug/elf"
	"os/exec"
	"testing"

	"hdb/internal/addr"
	_ "hdb/testprogs" // the same environment everywhere
)

// needTool fails the test when a program is missing, and says what to install.
func needTool(t testing.TB, name, debianPackage string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Fatalf("%s: %v (apt-get install %s)", name, err, debianPackage)
	}
}

// run returns a command's standard output; its messages are shown if it fails.
func run(t testing.TB, dir, name string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var messages bytes.Buffer
	cmd.Stderr = &messages
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, &messages)
	}
	return out
}

// openELF reads a file's sections as package symbols will.
func openELF(t testing.TB, path string) Sections {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return sectionsOf(t, path, f)
}

func sectionsOf(t testing.TB, name string, f *elf.File) Sections {
	t.Helper()
	s := Sections{Name: name, Entry: addr.File(f.Entry)}
	data := func(section string) ([]byte, addr.File) {
		sec := f.Section(section)
		if sec == nil || sec.Type == elf.SHT_NOBITS {
			return nil, 0
		}
		b, err := sec.Data()
		if err != nil {
			t.Fatalf("%s: %s: %v", name, section, err)
		}
		return b, addr.File(sec.Addr)
	}
	s.EhFrame, s.EhFrameAddr = data(".eh_frame")
	s.EhFrameHdr, s.EhFrameHdrAddr = data(".eh_frame_hdr")
	s.DebugFrame, s.DebugFrameAddr = data(".debug_frame")
	for _, sec := range f.Sections {
		r := Range{Low: addr.File(sec.Addr), High: addr.File(sec.Addr + sec.Size), EntrySize: sec.Entsize}
		if sec.Flags&elf.SHF_EXECINSTR != 0 {
			s.Text = append(s.Text, r)
		}
		switch sec.Name {
		case ".plt", ".plt.sec", ".plt.got":
			s.PLT = append(s.PLT, r)
		}
	}
	return s
}

func newTable(t testing.TB, s Sections) *Table {
	t.Helper()
	table, err := NewTable(s)
	if err != nil {
		t.Fatal(err)
	}
	return table
}
