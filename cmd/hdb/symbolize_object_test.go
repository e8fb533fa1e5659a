package main

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hdb/testprogs"
)

// TestSymbolizeRelocatable asks about each byte of code of objects that no linker has
// seen: of one section of code and of many, with DWARF compressed or not.
func TestSymbolizeRelocatable(t *testing.T) {
	for _, flags := range [][]string{{"-O2", "-gdwarf-5", "-ffunction-sections"}, {"-O0", "-gdwarf-4", "-gz"}, {"-O2", "-g", "-fno-exceptions"}} {
		object := filepath.Join(t.TempDir(), "sizes.o")
		if out, err := exec.Command(testprogs.Tool(t, "gcc"), append(flags, "-c", "-o", object, testprogs.Source(t, "sizes"))...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		f, err := elf.Open(object)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		syms, err := f.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		sections := 0
		for n, s := range f.Sections {
			if s.Flags&elf.SHF_EXECINSTR == 0 || s.Size == 0 {
				continue
			}
			sections++
			var list strings.Builder
			for _, sym := range syms { // addr2line has names for padding, too
				if int(sym.Section) != n || elf.ST_TYPE(sym.Info) != elf.STT_FUNC {
					continue
				}
				for a := range sym.Size {
					fmt.Fprintf(&list, "%#x\n", sym.Value+a)
				}
			}
			fmt.Fprintf(&list, "%#x\n", s.Size+16) // of the next section, if they were one
			args := []string{"-e", object, "-f", "-i", "-j", s.Name}
			cmd := exec.Command(testprogs.Tool(t, "addr2line"), args...)
			cmd.Stdin = strings.NewReader(list.String())
			theirs, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if d := firstDifference(normalized(symbolized1(t, list.String(), args...)), normalized(string(theirs))); d != "" {
				t.Errorf("%v: %s: %s", flags, s.Name, d)
			}
		}
		// Without -j an address is of the only section, or of nobody knows which.
		var out, errw bytes.Buffer
		code := symbolize([]string{"-e", object, "-f", "1"}, nil, &out, &errw)
		switch {
		case sections == 0:
			t.Errorf("%v: no code", flags)
		case sections == 1 && (code != 0 || strings.HasPrefix(out.String(), "??")):
			t.Errorf("%v: exit %d\n%s%s", flags, code, &out, &errw)
		case sections > 1 && (code != exitTarget || !strings.Contains(errw.String(), "choose one with -j NAME") || out.Len() > 0):
			t.Errorf("%v: exit %d\n%s%s", flags, code, &out, &errw)
		}
		errw.Reset()
		if code := symbolize(nil, strings.NewReader(object+" 1\n"), &out, &errw); code == 0 && sections > 1 {
			t.Errorf("%v: no error", flags)
		}
	}
}
